#include "cli/report/status_view.hpp"
#include "tests/support/catch.hpp"

#include <nlohmann/json.hpp>

#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace actorrun::test::status_view_test {

using namespace actorrun::cli;

namespace {

/// A node with a GPU that reports everything and one that reports little.
v1::JobStatus job_with_gpus() {
  auto job = v1::JobStatus{};
  job.set_job_id("job-1");
  job.set_phase("running");
  auto& agent = *job.add_agents();
  agent.set_agent_id("a");
  agent.set_host("node-a");
  auto& good = *agent.add_gpus();
  good.set_name("NVIDIA H200");
  good.set_uuid("GPU-a");
  good.set_memory_used(uint64_t{3} << 29);
  good.set_memory_total(uint64_t{140} << 30);
  good.set_utilisation(87);
  good.set_temperature(54);
  auto& lost = *agent.add_gpus();
  lost.set_index(1);
  lost.set_trouble("GPU is lost");
  return job;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("status_gpus: each GPU has a row", "[cli]") {
  const auto rows = gpu_rows(job_with_gpus());
  REQUIRE(rows.size() == 3);
  CHECK(rows[1]
        == std::vector<std::string>{"node-a", "0", "NVIDIA H200",
                                    "1.5 of 140.0 GiB", "87 %", "54 C",
                                    "good"});
  CHECK(rows[2]
        == std::vector<std::string>{"node-a", "1", "", "-", "-", "-",
                                    "GPU is lost"});
}

TEST_CASE("status_gpus: a driver that fails has a row, too", "[cli]") {
  auto job = v1::JobStatus{};
  auto& agent = *job.add_agents();
  agent.set_host("node-a");
  agent.set_gpu_trouble("Driver/library version mismatch");
  const auto rows = gpu_rows(job);
  REQUIRE(rows.size() == 2);
  CHECK(rows[1].back() == "Driver/library version mismatch");
  CHECK(actorrun::to_json(job)["agents"][0]["gpus"].empty());
}

TEST_CASE("status_gpus: a job without GPUs has no table of them", "[cli]") {
  auto job = v1::JobStatus{};
  job.add_agents()->set_host("node-a");
  CHECK(gpu_rows(job).empty());
  CHECK_FALSE(has(to_text({job}), "MEMORY"));
}

TEST_CASE("status_gpus: the tables are printed one below the other", "[cli]") {
  auto job = job_with_gpus();
  const auto text = to_text({job});
  CHECK(has(text, "NODE  HOST"));
  CHECK(has(text, "\n\n  HOST    GPU  NAME"));
  CHECK_FALSE(has(text, "more GPUs"));
  job.set_gpus_truncated(true);
  CHECK(has(to_text({job}), "there are more GPUs than one answer can hold"));
}

TEST_CASE("status_gpus: text of drivers cannot control the terminal", "[cli]") {
  auto job = job_with_gpus();
  job.mutable_agents(0)->mutable_gpus(0)->set_name("N\x1b[31m");
  CHECK_FALSE(has(to_text({job}), "\x1b"));
}

TEST_CASE("status_gpus: JSON has every number, and null for unknown ones",
          "[cli]") {
  const auto all
    = nlohmann::json::parse(to_json(std::vector{job_with_gpus()}))["jobs"][0];
  CHECK(all["gpus_truncated"] == false);
  const auto& agent = all["agents"][0];
  CHECK(agent["gpu_trouble"] == nullptr);
  const auto& good = agent["gpus"][0];
  CHECK(good["index"] == 0);
  CHECK(good["name"] == "NVIDIA H200");
  CHECK(good["uuid"] == "GPU-a");
  CHECK(good["memory_used"] == 1'610'612'736);
  CHECK(good["memory_total"] == 150'323'855'360);
  CHECK(good["utilisation_percent"] == 87);
  CHECK(good["temperature_celsius"] == 54);
  CHECK(good["trouble"] == nullptr);
  const auto& lost = agent["gpus"][1];
  CHECK(lost["utilisation_percent"] == nullptr);
  CHECK(lost["temperature_celsius"] == nullptr);
  CHECK(lost["trouble"] == "GPU is lost");
}

// -- states and their reasons
// ------------------------------------------------------

namespace {

/// A job of two nodes, one of which is away.
v1::JobStatus degraded_job() {
  auto job = v1::JobStatus{};
  job.set_job_id("job-1");
  job.set_phase("running");
  for (const auto* host : {"n1", "n2"}) {
    auto& agent = *job.add_agents();
    agent.set_agent_id(host);
    agent.set_host(host);
    agent.set_connected(host == std::string{"n1"});
    agent.set_state(agent.connected() ? "running" : "away");
    agent.set_reason(agent.connected() ? "" : "its link is broken");
  }
  return job;
}

ended_job ended(const std::string& how) {
  return {.job = "old", .how = how, .why = "why", .generation_count = 2};
}

} // namespace

TEST_CASE("status: a degraded job says which node is why", "[cli]") {
  const auto text = to_text({degraded_job()});
  CHECK(has(text, "  degraded: n2 is away\n"));
  CHECK(has(text, "REASON"));
  CHECK(has(text, "its link is broken\n"));
  auto healthy = degraded_job();
  healthy.set_is_healthy(true);
  healthy.mutable_agents(1)->clear_reason();
  CHECK_FALSE(has(to_text({healthy}), "degraded"));
  CHECK_FALSE(has(to_text({healthy}), "REASON"));
}

TEST_CASE("status: it says who leads, and who elects the next leader",
          "[cli]") {
  auto job = degraded_job();
  CHECK_FALSE(has(to_text({job}), "leader:"));
  auto& x = *job.mutable_leadership();
  x.set_leader("n2-4711");
  x.set_term(3);
  x.set_by("voters");
  x.set_age_ms(12'000);
  x.set_reason("n1-4702 was silent\nfor 400.0 ms");
  CHECK(
    has(to_text({job}),
        "  leader: n2-4711, term 3, elected by the agents 12.0 s ago: n1-4702 "
        "was silent for 400.0 ms\n"));
  x.add_voters("n2-4711");
  CHECK(has(to_text({job}),
            "  voters: none but the leader, so no other one can "
            "be elected: that takes agents on three hosts or "
            "more, or on two and a witness on a third\n"));
  x.add_deputies("n3-4720");
  CHECK(has(to_text({job}),
            "  voters: none but the leader; n3-4720 follows if its process "
            "ends, but not if its host is lost: that takes agents on three "
            "hosts or more, or on two and a witness on a third\n"));
  x.clear_deputies();
  x.add_voters("n3-4720");
  x.add_voters("n4-4731");
  x.add_deputies("n5-4742");
  CHECK(has(to_text({job}),
            "  voters: n2-4711, n3-4720, n4-4731; can lead, too: "
            "n5-4742\n"));
  x.set_by("etcd");
  x.clear_leader();
  job.set_coordinator_host("n9");
  CHECK(
    has(to_text({job}), "  leader: n9, term 3, elected by etcd 12.0 s ago"));
}

TEST_CASE("status: a drain that waits says since when", "[cli]") {
  auto job = degraded_job();
  auto& agent = *job.mutable_agents(1);
  agent.set_reason("drain waits for a replacement, asked by alice");
  agent.set_drain_asked_age_ms(12'000);
  CHECK(has(to_text({job}, false),
            "drain waits for a replacement, asked by alice, 12.0 s ago\n"));
}

TEST_CASE("status: a job that waits says since when, and how long", "[cli]") {
  auto job = v1::JobStatus{};
  job.set_phase("gathering");
  job.set_waiting_for("waiting for 1 more node");
  job.set_waiting_age_ms(12'000);
  job.set_waiting_left_ms(48'000);
  auto& gone = *job.add_departed_nodes();
  gone.set_host("n2");
  gone.set_reason("silent for 1200 ms");
  gone.set_age_ms(12'000);
  const auto text = to_text({job});
  CHECK(
    has(text, "  waiting for 1 more node, for 12.0 s, at most 48.0 s more\n"));
  CHECK(has(text, "  gone: n2, 12.0 s ago: silent for 1200 ms\n"));
}

TEST_CASE("status: the exit code is that of the worst job", "[cli]") {
  auto good = v1::JobStatus{};
  good.set_is_healthy(true);
  CHECK(exit_code_of({}, {}) == exit_code::rendezvous_failed);
  CHECK(exit_code_of({good}, {}) == exit_code::succeeded);
  CHECK(exit_code_of({good, degraded_job()}, {}) == exit_code::workers_failed);
  CHECK(exit_code_of({}, {ended("succeeded"), ended("failed")})
        == exit_code::succeeded);
  CHECK(exit_code_of({}, {ended("failed")}) == exit_code::workers_failed);
  CHECK(exit_code_of({}, {ended("lost")}) == exit_code::workers_failed);
  CHECK(exit_code_of({good}, {ended("failed")}) == exit_code::succeeded);
}

TEST_CASE("status: P14 below jobs that run is one line of those that ended",
          "[cli]") {
  CHECK(to_text({}, {}, false) == "no jobs on this host\n");
  CHECK(has(to_text({}, {ended("failed")}, false), "no job runs on this host"));
  CHECK(has(to_text({}, {ended("failed")}, false), "old  failed  2"));
  const auto text
    = to_text({degraded_job()}, {ended("failed"), ended("succeeded")}, false);
  const auto below
    = text.find("\nended in the last day: 2; the last: old failed at ");
  REQUIRE(below != text.npos);
  CHECK(text.find("job job-1") < below);
  CHECK(text.find('\n', below + 1) == text.size() - 1);
}

TEST_CASE("status: P14 pids are on one short line", "[cli]") {
  auto job = degraded_job();
  auto& pids = *job.mutable_agents(0)->mutable_pids();
  pids.Clear();
  for (const auto pid : {11, 12, 13, 15, 17, 18})
    pids.Add(pid);
  CHECK(has(to_text({job}, false), " 11-13 15 17-18\n"));
  pids.Clear();
  for (int i = 0; i < 64; ++i)
    pids.Add(100 + 2 * i);
  CHECK(
    has(to_text({job}, false), " 100 102 104 106 108 110 112 114 … (64)\n"));
}

// -- the page
// ----------------------------------------------------------------------

namespace {

using json = nlohmann::json;
using types = std::map<std::string, std::set<std::string>>;

void collect(const json& x, const std::string& path, types& out) {
  if (!path.empty() && !path.ends_with(']'))
    out[path].insert(x.is_number() ? "number" : x.type_name());
  if (x.is_object())
    for (const auto& [name, member] : x.items())
      collect(member, path.empty() ? name : path + "." + name, out);
  if (x.is_array() && !x.empty() && !x.front().is_number())
    for (const auto& member : x)
      collect(member, path + "[]", out);
}

/// Everything is known, or nothing is.
v1::JobStatus extreme_job(bool is_known) {
  auto job = job_with_gpus();
  job.set_generation(1);
  job.add_quarantined_nodes();
  job.add_departed_nodes();
  job.add_excluded_hosts();
  job.add_stragglers();
  auto& generation = *job.add_generations();
  auto& agent = *job.mutable_agents(0);
  agent.add_pids(7);
  agent.mutable_vitals();
  job.mutable_last_failure()->set_kind(v1::FAILURE_TIMER_EXPIRED);
  if (!is_known)
    return job;
  job.set_sequence(1);
  job.set_wall_ms(1);
  job.set_waiting_for("something");
  job.set_hang("no worker has shown a sign of life");
  job.set_loop("3 ends alike");
  job.set_alike_end_count(3);
  auto& ends = *job.add_ends();
  ends.set_end_class("program");
  ends.set_count(3);
  job.set_slow("rank 5 on n2 computes for 121.0 ms per step");
  job.set_waiting_left_ms(1);
  job.mutable_leadership()->add_voters("n1-7");
  job.mutable_last_failure()->mutable_details()->set_limit_ns(1);
  job.mutable_outcome();
  generation.set_running_age_ms(1);
  generation.set_revoked_age_ms(1);
  generation.set_regroup_us(1);
  generation.set_end_reason("x");
  generation.set_end_class("program");
  generation.set_end_evidence("exit code 7");
  agent.set_generation(1);
  agent.set_share(v1::SHARE_RUNNING);
  agent.set_lease_age_ms(1);
  agent.set_drain_left_ms(1);
  agent.set_drain_asked_age_ms(1);
  agent.set_checks(v1::CHECK_STATE_FAILED);
  agent.set_unfit("x");
  agent.set_unfit_age_ms(1);
  agent.set_gpu_trouble("x");
  auto& node = *agent.mutable_vitals();
  node.set_load_1_percent(1);
  node.set_load_5_percent(1);
  node.set_load_15_percent(1);
  node.set_cpu_count(1);
  node.set_memory_total(1);
  node.set_memory_available(1);
  node.set_age_ms(1);
  auto& worker = *node.add_workers();
  worker.set_pid(7);
  worker.set_age_ms(1);
  worker.set_cpu_percent(1);
  worker.set_memory(1);
  worker.set_thread_count(1);
  worker.set_process_count(1);
  worker.set_state('R');
  worker.set_output_size(1);
  worker.set_output_age_ms(1);
  worker.set_timer_scope("x");
  worker.set_timer_age_ms(1);
  worker.set_step_count(1);
  worker.set_compute_us(1);
  worker.set_step_us(1);
  auto& time = *job.add_time();
  time.set_cause("training");
  time.set_worker_us(1);
  time.set_node_us(1);
  return job;
}

/// What the documents hold: members, and which types they have.
types of_documents() {
  auto out = types{};
  for (const auto is_known : {true, false}) {
    const auto extreme = extreme_job(is_known);
    auto places = std::vector<log_place>{};
    if (is_known)
      places.push_back(
        {.agent = extreme.agents(0).agent_id(), .folder = "/logs"});
    collect(json::parse(to_json({extreme}, {ended("failed")}, places)), "",
            out);
  }
  auto job = v1::JobStatus{}; // Has never answered.
  job.add_agents();
  collect(json::parse(to_json(std::vector{job})), "", out);
  return out;
}

/// What the table of the page says.
types of_page() {
  auto out = types{};
  auto page = std::ifstream{DOCS_FOLDER "/status.md"};
  REQUIRE(page);
  auto is_in = false;
  for (auto line = std::string{}; std::getline(page, line);) {
    is_in = is_in || line.starts_with("| member | type ");
    if (!is_in || !line.starts_with("| `"))
      continue;
    const auto end = line.find('`', 3);
    const auto begin = line.find("| ", end) + 2;
    auto words
      = std::istringstream{line.substr(begin, line.find(" |", begin) - begin)};
    for (auto word = std::string{}; words >> word;)
      if (word != "or")
        out[line.substr(3, end - 3)].insert(word);
  }
  return out;
}

} // namespace

TEST_CASE("status page: it lists every member of the JSON with its types",
          "[cli]") {
  const auto documents = of_documents();
  const auto page = of_page();
  for (const auto& [path, kinds] : documents) {
    INFO(path);
    REQUIRE(page.contains(path));
    CHECK(page.at(path) == kinds);
  }
  for (const auto& [path, kinds] : page) {
    INFO(path);
    CHECK(documents.contains(path));
  }
  const auto text = to_json(std::vector<v1::JobStatus>{});
  CHECK(json::parse(text)["schema"] == status_schema);
}

TEST_CASE(
  "status view: S13 texts of a status are harmless, whoever has sent it",
  "[cli]") {
  auto job = job_with_gpus();
  auto& agent = *job.mutable_agents(0);
  agent.set_agent_id("a\x1b[2J\nforged");
  agent.mutable_gpus(0)->set_name("one\ntwo\xc2\x9b"
                                  "31m\xe2\x80\xae");
  auto& failure = *job.mutable_last_failure();
  failure.set_host("node\x1b]0;t\x07-a");
  failure.mutable_details()->set_message("first\nsecond\x1b[31m");
  for (const auto& text :
       {to_text(std::vector{job}, true), to_json(std::vector{job})}) {
    for (const auto* bad :
         {"\x1b", "\nforged", "\ntwo", "\xc2\x9b", "\xe2\x80\xae"})
      CHECK_FALSE(has(text, bad));
    CHECK(has(text, "one two"));
  }
}

} // namespace actorrun::test::status_view_test
