#include "cli/report/status_view.hpp"
#include "cli/report/vitals_view.hpp"
#include "tests/support/catch.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <limits>
#include <string>

namespace actorrun::test::vitals_view_test {

using namespace actorrun::cli;

namespace {

constexpr auto mib = uint64_t{1} << 20;
constexpr auto gib = uint64_t{1} << 30;

/// Two nodes with two workers each; only one worker is known well.
v1::JobStatus job() {
  auto out = v1::JobStatus{};
  out.set_job_id("job-1");
  out.set_phase("running");
  out.set_is_healthy(true);
  out.set_generation(1);
  out.set_world_size(4);
  out.mutable_settings()->set_agent_count_min(2);
  out.mutable_settings()->set_agent_count_max(2);
  for (uint32_t i = 0; i < 2; ++i) {
    auto& agent = *out.add_agents();
    const auto rank = 1 - i; // The other way round than ranks.
    agent.set_agent_id("agent-" + std::to_string(rank));
    agent.set_host("n" + std::to_string(rank));
    agent.set_address("10.0.0." + std::to_string(rank));
    agent.set_slot_count(2);
    agent.set_connected(true);
    agent.set_generation(1);
    agent.set_node_rank(rank);
    agent.set_first_global_rank(2 * rank);
    agent.set_share(v1::SHARE_RUNNING);
    agent.set_state("running");
    agent.set_since_ms(192'000);
    if (i == 0)
      agent.set_lease_age_ms(40);
    agent.add_pids(100 + 10 * rank);
    agent.add_pids(101 + 10 * rank);
  }
  auto& node = *out.mutable_agents(1)->mutable_vitals();
  node.set_load_1_percent(52);
  node.set_load_5_percent(1'240);
  node.set_load_15_percent(0);
  node.set_cpu_count(64);
  node.set_memory_total(503 * gib);
  node.set_memory_available(490 * gib + 700 * mib);
  node.set_age_ms(3);
  auto& worker = *node.add_workers();
  worker.set_pid(100);
  worker.set_age_ms(192'000);
  worker.set_cpu_percent(398);
  worker.set_memory(gib + 205 * mib);
  worker.set_thread_count(35);
  worker.set_process_count(5);
  worker.set_state('R');
  worker.set_output_size(1'536);
  worker.set_output_age_ms(4'999);
  auto& other = *out.mutable_agents(0)->mutable_vitals();
  other.set_age_ms(61'000);
  auto& gone = *other.add_workers(); // Of an earlier generation.
  gone.set_pid(99);
  gone.set_state('R');
  return out;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("status_vitals: sizes have a unit and one place", "[cli]") {
  CHECK(size_text(0) == "0 B");
  CHECK(size_text(1'023) == "1023 B");
  CHECK(size_text(1'024) == "1.0 KiB");
  CHECK(size_text(1'536) == "1.5 KiB");
  CHECK(size_text(mib - 1) == "1.0 MiB");
  CHECK(size_text(gib + gib / 5) == "1.2 GiB");
  CHECK(size_text(1'000 * gib) == "1000.0 GiB");
  CHECK(size_text(1'024 * gib) == "1.0 TiB");
  CHECK(size_text(std::numeric_limits<uint64_t>::max()) == "16.0 EiB");
}

TEST_CASE("status_vitals: spans have their two largest units", "[cli]") {
  CHECK(span_text(0) == "0s");
  CHECK(span_text(999) == "0s");
  CHECK(span_text(59'999) == "59s");
  CHECK(span_text(60'000) == "1m 0s");
  CHECK(span_text(192'000) == "3m 12s");
  CHECK(span_text(3'599'999) == "59m 59s");
  CHECK(span_text(7'500'000) == "2h 5m");
  CHECK(span_text(86'400'000) == "1d 0h");
  CHECK(span_text(12 * 86'400'000ull + 3 * 3'600'000ull) == "12d 3h");
}

TEST_CASE("status_vitals: the wide text has the load of nodes and a row per "
          "worker",
          "[cli]") {
  CHECK(
    to_text({job()}, true)
    == R"(job job-1: running, generation 1, world size 4, nodes 2, restarts 0 of 0
  NODE  HOST  ADDRESS   STATE    SINCE   LEASE  RANKS  AGENT    LOAD             CPUS  MEMORY                 SEEN
  0     n0    10.0.0.0  running  3m 12s  -      0-1    agent-0  0.52 12.40 0.00  64    12.3 GiB of 503.0 GiB  now
  1     n1    10.0.0.1  running  3m 12s  40 ms  2-3    agent-1  -                -     -                      1m 1s ago

  RANK  LOCAL  HOST  PID  STATE     SINCE   CPU    MEMORY   THREADS  OUTPUT   LAST LINE
  0     0      n0    100  runs (R)  3m 12s  398 %  1.2 GiB  35       1.5 KiB  4s
  1     1      n0    101  -         -       -      -        -        -        -
  2     0      n1    110  -         -       -      -        -        -        -
  3     1      n1    111  -         -       -      -        -        -        -
)");
}

TEST_CASE("status_vitals: the short text has none of it", "[cli]") {
  CHECK(
    to_text({job()})
    == R"(job job-1: running, generation 1, world size 4, nodes 2, restarts 0 of 0
  NODE  HOST  ADDRESS   STATE    RANKS  AGENT    WORKER PIDS
  0     n0    10.0.0.0  running  0-1    agent-0  100-101
  1     n1    10.0.0.1  running  2-3    agent-1  110-111
)");
}

TEST_CASE("status_vitals: without workers there is no table of them", "[cli]") {
  auto x = job();
  for (auto& agent : *x.mutable_agents()) {
    agent.clear_pids();
    agent.clear_vitals();
  }
  const auto text = to_text({x}, true);
  CHECK(has(text, "LOAD"));
  CHECK_FALSE(has(text, "LAST LINE"));
  CHECK(worker_rows(x).empty());
}

TEST_CASE(
  "status_vitals: workers outside a generation have no rank and come last",
  "[cli]") {
  auto x = job();
  x.mutable_agents(1)->set_generation(0);
  const auto rows = worker_rows(x);
  REQUIRE(rows.size() == 5);
  CHECK(rows[1][0] == "2");
  CHECK(rows[3][0] == "-");
  CHECK(rows[3][3] == "100");
}

TEST_CASE("status_vitals: the text says what was left out", "[cli]") {
  auto x = job();
  x.set_vitals_truncated(true);
  const auto note = "there are more workers than one answer can describe";
  CHECK(has(to_text({x}, true), note));
  CHECK_FALSE(has(to_text({x}), note));
}

TEST_CASE("status_vitals: states have words, and odd ones cannot control the "
          "terminal",
          "[cli]") {
  auto x = job();
  auto& worker = *x.mutable_agents(1)->mutable_vitals()->mutable_workers(0);
  const auto state = [&](uint32_t letter) {
    worker.set_state(letter);
    return worker_rows(x).at(1).at(4);
  };
  CHECK(state('D') == "waits for I/O (D)");
  CHECK(state('T') == "stopped (T)");
  CHECK(state('Z') == "ended (Z)");
  CHECK(state('I') == "I");
  CHECK(state(0x1b) == "-");
  CHECK(state('R' + 256) == "-");
  x.mutable_agents(1)->set_host("n\x1b[31m");
  CHECK_FALSE(has(to_text({x}, true), "\x1b[31m  100"));
  CHECK(worker_rows(x).at(1).at(2) == "n");
}

TEST_CASE("status_vitals: JSON has every number, and null for unknown ones",
          "[cli]") {
  const auto all
    = nlohmann::json::parse(to_json(std::vector{job()}))["jobs"][0];
  CHECK(all["vitals_truncated"] == false);
  const auto& node = all["agents"][1]["vitals"];
  CHECK(node["load"] == std::vector<double>{0.52, 12.4, 0.0});
  CHECK(node["cpus"] == 64);
  CHECK(node["memory_total"] == 503 * gib);
  CHECK(node["memory_available"] == 490 * gib + 700 * mib);
  CHECK(node["age_ms"] == 3);
  const auto& worker = all["agents"][1]["workers"][0];
  CHECK(worker["pid"] == 100);
  CHECK(worker["rank"] == 0);
  CHECK(worker["state"] == "R");
  CHECK(worker["age_ms"] == 192'000);
  CHECK(worker["cpu_percent"] == 398);
  CHECK(worker["memory"] == gib + 205 * mib);
  CHECK(worker["threads"] == 35);
  CHECK(worker["processes"] == 5);
  CHECK(worker["output_bytes"] == 1'536);
  CHECK(worker["output_age_ms"] == 4'999);
  const auto& unknown = all["agents"][0]["workers"][0];
  for (const auto* name :
       {"state", "age_ms", "cpu_percent", "memory", "threads", "processes",
        "output_bytes", "output_age_ms"})
    CHECK(unknown.at(name) == nullptr);
  CHECK(all["agents"][0]["vitals"]["load"] == nullptr);
  auto silent = job();
  silent.mutable_agents(0)->clear_vitals();
  CHECK(nlohmann::json::parse(
          to_json(std::vector{silent}))["jobs"][0]["agents"][0]["vitals"]
        == nullptr);
}

} // namespace actorrun::test::vitals_view_test
