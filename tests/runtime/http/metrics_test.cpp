#include "runtime/http/metrics.hpp"
#include "tests/support/catch.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace actorrun::test::metrics_test {

using namespace actorrun::detail;

namespace {

struct sample {
  std::string name;
  std::map<std::string, std::string> labels;
  double value = 0;
};

/// What a strict reader of Prometheus' text format makes of it.
struct reading {
  std::map<std::string, std::string> types;
  std::vector<sample> samples;
  std::vector<std::string> wrong;
};

std::string family_of(const std::string& name, const reading& x) {
  for (const auto* end : {"_bucket", "_sum", "_count"}) {
    const auto base = name.substr(0, name.rfind(end));
    const auto known = x.types.find(base);
    if (name.ends_with(end) && known != x.types.end()
        && known->second == "histogram")
      return base;
  }
  return name;
}

/// @see https://prometheus.io/docs/instrumenting/exposition_formats/
reading read(const std::string& text) {
  static const auto head
    = std::regex{"# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)"};
  static const auto line = std::regex{
    "([a-zA-Z_:][a-zA-Z0-9_:]*)(\\{(.*)\\})? (-?[0-9.e+-]+|NaN|[+-]Inf)"};
  static const auto label = std::regex{
    "([a-zA-Z_][a-zA-Z0-9_]*)=\"((?:[^\"\\\\\\n]|\\\\[\\\\\"n])*)\"(,|$)"};
  auto out = reading{};
  auto stream = std::istringstream{text};
  auto last = std::string{};
  auto done = std::set<std::string>{};
  auto seen = std::set<std::string>{};
  if (!text.empty() && !text.ends_with('\n'))
    out.wrong.push_back("the last line has no end");
  for (auto x = std::string{}; std::getline(stream, x);) {
    auto parts = std::smatch{};
    if (std::regex_match(x, parts, head)) {
      if (parts[1] == "TYPE") {
        if (!out.types.emplace(parts[2], parts[3]).second)
          out.wrong.push_back("second type: " + x);
        if (!std::set<std::string>{"gauge", "counter", "histogram"}.contains(
              parts[3]))
          out.wrong.push_back("type: " + x);
      }
      continue;
    }
    if (!std::regex_match(x, parts, line)) {
      out.wrong.push_back("line: " + x);
      continue;
    }
    auto y = sample{parts[1], {}, std::stod(parts[4])};
    const auto all = parts[3].str();
    size_t used = 0;
    for (auto i = std::sregex_iterator{all.begin(), all.end(), label};
         i != std::sregex_iterator{}; ++i) {
      if (static_cast<size_t>(i->position()) != used)
        out.wrong.push_back("labels: " + x);
      used += static_cast<size_t>(i->length());
      if (!y.labels.emplace((*i)[1], (*i)[2]).second)
        out.wrong.push_back("label twice: " + x);
    }
    if (used != all.size())
      out.wrong.push_back("labels: " + x);
    if (!seen.insert(parts[1].str() + all).second)
      out.wrong.push_back("sample twice: " + x);
    const auto family = family_of(y.name, out);
    if (!out.types.contains(family))
      out.wrong.push_back("no type: " + x);
    if (family != last && !done.insert(family).second)
      out.wrong.push_back("family in pieces: " + x);
    last = family;
    out.samples.push_back(std::move(y));
  }
  return out;
}

double value_of(const reading& x, const std::string& name,
                const std::map<std::string, std::string>& labels = {}) {
  auto found = std::vector<double>{};
  for (const auto& y : x.samples)
    if (y.name == name
        && std::all_of(labels.begin(), labels.end(), [&](const auto& z) {
             const auto i = y.labels.find(z.first);
             return i != y.labels.end() && i->second == z.second;
           }))
      found.push_back(y.value);
  INFO(name);
  REQUIRE(found.size() == 1);
  return found.front();
}

v1::JobStatus whole_job() {
  auto job = v1::JobStatus{};
  job.set_job_id("j");
  job.set_phase("running");
  job.set_generation(2);
  job.set_world_size(2);
  job.set_restart_count(1);
  job.mutable_settings()->set_agent_count_min(1);
  job.mutable_settings()->set_agent_count_max(4);
  job.mutable_settings()->set_restart_count_max(3);
  job.set_wall_ms(1);
  job.set_is_healthy(true);
  job.set_phase_age_ms(1'500);
  job.mutable_leadership()->set_term(3);
  job.add_excluded_hosts()->set_host("bad");
  auto& slow = *job.add_stragglers();
  slow.set_rank(7);
  slow.set_host("n2");
  slow.set_compute_us(121'000);
  auto& time = *job.add_time();
  time.set_cause("training");
  time.set_worker_us(2'500'000);
  for (const auto* cause : {"saving", "lost", "waiting"}) {
    auto& more = *job.add_time();
    more.set_cause(cause);
    more.set_worker_us(500'000);
  }
  auto& node = *job.add_agents();
  node.set_agent_id("n1-7");
  node.set_host("n\"1\\\n\x1b[31m");
  node.set_connected(true);
  node.set_generation(2);
  node.set_share(v1::SHARE_RUNNING);
  node.set_lease_age_ms(40);
  auto& far = *job.add_agents();
  far.set_agent_id("n2-8");
  far.set_host("n2");
  return job;
}

v1::JobStatus own_node() {
  auto out = v1::JobStatus{};
  out.set_job_id("j");
  auto& node = *out.add_agents();
  node.set_generation(2);
  node.set_share(v1::SHARE_RUNNING);
  node.set_slot_count(2);
  node.set_first_global_rank(6);
  node.add_pids(100);
  node.add_pids(101);
  auto& vitals = *node.mutable_vitals();
  vitals.set_load_1_percent(150);
  vitals.set_load_5_percent(100);
  vitals.set_load_15_percent(50);
  vitals.set_cpu_count(8);
  vitals.set_memory_total(1'000);
  vitals.set_memory_available(400);
  auto& worker = *vitals.add_workers();
  worker.set_local_rank(1);
  worker.set_pid(101);
  worker.set_age_ms(2'500);
  worker.set_cpu_percent(250);
  worker.set_memory(77);
  worker.set_thread_count(5);
  worker.set_process_count(2);
  worker.set_output_size(900);
  worker.set_output_age_ms(300);
  worker.set_timer_age_ms(10);
  worker.set_step_count(40);
  worker.set_compute_us(121'000);
  worker.set_step_us(150'000);
  auto& gpu = *node.add_gpus();
  gpu.set_index(3);
  gpu.set_uuid("GPU-1");
  gpu.set_memory_total(80);
  gpu.set_memory_used(20);
  gpu.set_utilisation(50);
  gpu.set_temperature(61);
  gpu.set_trouble("Xid 79");
  return out;
}

std::string full_text() {
  static const auto job = whole_job();
  static const auto node = own_node();
  auto waiting = job;
  waiting.set_waiting_for("nodes");
  waiting.set_hang("no worker has shown a sign of life");
  waiting.set_waiting_age_ms(2'000);
  waiting.set_loop("3 ends alike");
  waiting.set_alike_end_count(3);
  auto& ends = *waiting.add_ends();
  ends.set_end_class("node");
  ends.set_count(2);
  auto regroups = regroup_times{};
  auto x = v1::JobStatus{};
  x.add_generations()->set_generation(2);
  x.mutable_generations(0)->set_regroup_us(70'000);
  regroups.look_at(x);
  *waiting.mutable_generations() = x.generations();
  return metrics_text({.job = &waiting,
                       .node = &node,
                       .regroups = &regroups,
                       .has_coordinator = true,
                       .has_agent = true,
                       .is_elected = true},
                      "j", "n1");
}

} // namespace

TEST_CASE("metrics: a strict reader of the format finds nothing wrong",
          "[runtime]") {
  const auto x = read(full_text());
  CHECK(x.wrong == std::vector<std::string>{});
  CHECK(x.samples.size() > 50);
}

TEST_CASE("metrics: every family appears, named as Prometheus wants it",
          "[runtime]") {
  const auto x = read(full_text());
  auto names = std::set<std::string>{};
  for (const auto* family : metric_families()) {
    INFO(family->name);
    const auto name = std::string{family->name};
    CHECK(names.insert(name).second);
    REQUIRE(x.types.contains(name));
    CHECK(x.types.at(name) == family->type);
    CHECK(name.starts_with("actorrun_"));
    CHECK(name.ends_with("_total") == (family->type == std::string{"counter"}));
    CHECK(name.find("_ms") == std::string::npos);
    CHECK(std::string{family->help}.find('\n') == std::string::npos);
    CHECK_FALSE(std::string{family->help}.ends_with('.'));
  }
  CHECK(x.types.size() == names.size());
}

TEST_CASE("metrics: the values are those of the status, in base units",
          "[runtime]") {
  const auto x = read(full_text());
  CHECK(value_of(x, "actorrun_job_phase", {{"phase", "running"}}) == 1);
  CHECK(value_of(x, "actorrun_job_phase", {{"phase", "ended"}}) == 0);
  CHECK(value_of(x, "actorrun_job_restarts_total") == 1);
  CHECK(value_of(x, "actorrun_leader") == 1);
  CHECK(value_of(x, "actorrun_term") == 3);
  CHECK(value_of(x, "actorrun_job_phase_age_seconds") == 1.5);
  CHECK(value_of(x, "actorrun_job_nodes", {{"state", "running"}}) == 1);
  CHECK(value_of(x, "actorrun_job_nodes", {{"state", "away"}}) == 1);
  CHECK(value_of(x, "actorrun_job_node_lease_age_seconds", {{"agent", "n1-7"}})
        == 0.04);
  CHECK(value_of(x, "actorrun_job_regroup_seconds_bucket", {{"le", "0.05"}})
        == 0);
  CHECK(value_of(x, "actorrun_job_regroup_seconds_bucket", {{"le", "0.1"}})
        == 1);
  CHECK(value_of(x, "actorrun_job_regroup_seconds_bucket", {{"le", "+Inf"}})
        == 1);
  CHECK(value_of(x, "actorrun_job_regroup_seconds_sum") == 0.07);
  CHECK(
    value_of(x, "actorrun_job_worker_seconds_total", {{"cause", "training"}})
    == 3.5);
  CHECK(value_of(x, "actorrun_job_worker_seconds_total", {{"cause", "waiting"}})
        == 0.5);
  CHECK(value_of(x, "actorrun_job_saving_worker_seconds_total") == 0.5);
  CHECK(value_of(x, "actorrun_job_lost_worker_seconds_total") == 0.5);
  CHECK(value_of(x, "actorrun_node_load", {{"minutes", "1"}}) == 1.5);
  CHECK(value_of(x, "actorrun_worker_cpu_cores", {{"rank", "7"}}) == 2.5);
  CHECK(value_of(x, "actorrun_worker_info", {{"rank", "6"}}) == 1);
  CHECK(value_of(x, "actorrun_worker_log_age_seconds") == 0.3);
  CHECK(value_of(x, "actorrun_gpu_utilization_ratio", {{"gpu", "3"}}) == 0.5);
  CHECK(value_of(x, "actorrun_gpu_healthy") == 0);
}

TEST_CASE("metrics: a text of a peer stays within its label", "[runtime]") {
  const auto text = full_text();
  CHECK(text.find("host=\"n\\\"1\\\\") != std::string::npos);
  CHECK(text.find('\x1b') == std::string::npos);
  auto long_name = whole_job();
  long_name.mutable_agents(0)->set_host(std::string(10'000, 'x'));
  const auto x = read(
    metrics_text({.job = &long_name, .has_coordinator = true}, "j", "n1"));
  CHECK(x.wrong.empty());
  for (const auto& y : x.samples)
    for (const auto& [name, value] : y.labels)
      CHECK(value.size() <= metric_label_size_max);
}

TEST_CASE("metrics: what is not known is absent, and who is silent is named",
          "[runtime]") {
  const auto x = read(
    metrics_text({.has_coordinator = true, .has_agent = true}, "j", "n1"));
  CHECK(x.wrong.empty());
  CHECK(value_of(x, "actorrun_actor_answers", {{"actor", "agent"}}) == 0);
  CHECK(value_of(x, "actorrun_actor_answers", {{"actor", "coordinator"}}) == 0);
  CHECK(x.samples.size() == 2);
  const auto node = own_node();
  const auto of_agent
    = read(metrics_text({.node = &node, .has_agent = true}, "j", "n1"));
  CHECK_FALSE(of_agent.types.contains("actorrun_leader")); // None is elected.
  const auto follows = read(metrics_text(
    {.node = &node, .has_agent = true, .is_elected = true}, "j", "n1"));
  CHECK(value_of(follows, "actorrun_leader") == 0);
  CHECK_FALSE(follows.types.contains("actorrun_term"));
  CHECK(of_agent.types.contains("actorrun_node_load"));
  CHECK_FALSE(of_agent.types.contains("actorrun_job_generation"));
}

TEST_CASE("metrics: docs/metrics.md lists what is served", "[runtime]") {
  auto file = std::ifstream{DOCS_FOLDER "/metrics.md"};
  REQUIRE(file);
  auto page = std::vector<std::string>{};
  for (auto x = std::string{}; std::getline(file, x);)
    if (x.starts_with("| `actorrun_"))
      page.push_back(x);
  auto served = std::vector<std::string>{};
  for (const auto* x : metric_families()) {
    auto labels = std::string{};
    auto stream = std::istringstream{x->labels};
    for (auto y = std::string{}; std::getline(stream, y, ',');)
      labels += (labels.empty() ? "`" : ", `") + y + "`";
    served.push_back(std::string{"| `"} + x->name + "` | " + x->type + " | "
                     + labels + (labels.empty() ? "| " : " | ") + x->help
                     + " |");
  }
  CHECK(page == served);
}

TEST_CASE("metrics: the dashboard for Grafana asks for what is served",
          "[runtime]") {
  auto file = std::ifstream{DOCS_FOLDER "/grafana.json"};
  REQUIRE(file);
  const auto page = nlohmann::json::parse(file);
  auto names = std::set<std::string>{};
  for (const auto* x : metric_families()) {
    names.insert(x->name);
    if (x->type == std::string{"histogram"})
      names.insert(x->name + std::string{"_bucket"});
  }
  static const auto name = std::regex{"actorrun_[a-z0-9_]+"};
  auto count = 0;
  for (const auto& panel : page["panels"])
    for (const auto& target : panel["targets"]) {
      const auto text = target["expr"].get<std::string>();
      for (auto i = std::sregex_iterator{text.begin(), text.end(), name};
           i != std::sregex_iterator{}; ++i, ++count) {
        INFO(i->str());
        CHECK(names.contains(i->str()));
      }
    }
  CHECK(count > 15);
}

} // namespace actorrun::test::metrics_test
