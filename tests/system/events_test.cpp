// The event logs of real jobs.
#include "tests/support/catch.hpp"
#include "tests/system/scene.hpp"

#include <algorithm>
#include <csignal>
#include <ctime>
#include <sstream>

namespace actorrun::test::events_test {

namespace {

/// The events among the output lines of a program, in order.
std::vector<json> events_in(const std::string& output) {
  auto out = std::vector<json>{};
  auto lines = std::istringstream{output};
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("{\"name\""))
      out.push_back(json::parse(line));
  return out;
}

/// `START 0`, `FAILED agent`: state, and global rank.
std::vector<std::string> brief(const std::vector<json>& events) {
  auto out = std::vector<std::string>{};
  for (const auto& x : events) {
    const auto& rank = x["metadata"]["global_rank"];
    out.push_back(x["metadata"]["state"].get<std::string>() + " "
                  + (rank.is_null() ? "agent" : rank.dump()));
  }
  return out;
}

} // namespace

TEST_CASE_METHOD(scene, "events: none, unless they are turned on", "[events]") {
  auto& x = run({"--no-python", "true"});
  CHECK(x.wait() == 0);
  CHECK(events_in(x.output()).empty());
}

TEST_CASE_METHOD(scene, "events: a job that succeeds", "[events]") {
  auto& x = run({"--event-log-handler=console", "--rdzv-id=j", "--role=trainer",
                 "--no-python", "true"});
  CHECK(x.wait() == 0);
  const auto events = events_in(x.output());
  CHECK(brief(events)
        == std::vector<std::string>{"RENDEZVOUS agent",
                                    "ASSIGN_WORKER_RANKS agent", "START 0",
                                    "SUCCEEDED 0", "SUCCEEDED agent"});
  REQUIRE(events.size() == 5);
  const auto& end = events[3];
  CHECK(end["name"] == "torchelastic.worker.status.SUCCEEDED");
  CHECK(end["source"] == "WORKER");
  const auto now = int64_t{std::time(nullptr)} * 1'000;
  CHECK(std::abs(end["timestamp"].get<int64_t>() - now) < 60'000);
  CHECK(end["metadata"]["run_id"] == "j");
  CHECK(end["metadata"]["role"] == "trainer");
  CHECK(end["metadata"]["rdzv_backend"] == "c10d");
  const auto inner
    = json::parse(end["metadata"]["metadata"].get<std::string>());
  CHECK(inner["entry_point"] == "true");
  CHECK(inner["exit_code"] == json::array({0}));
  CHECK(end["metadata"]["worker_id"] == inner["worker_pid"].at(0).dump());
}

TEST_CASE_METHOD(scene, "events: a job that fails, after a restart",
                 "[events]") {
  auto& x = run({"--event-log-handler=console", "--max-restarts=1",
                 "--nproc-per-node=2", "--no-python", "sh", "-c",
                 "[ $RANK = 0 ] && exit 3; exec sleep 60"});
  CHECK(x.wait() == 1);
  const auto events = events_in(x.output());
  auto states = brief(events);
  const auto count = [&](const std::string& state) {
    return std::count(states.begin(), states.end(), state);
  };
  CHECK(count("RENDEZVOUS agent") == 2);
  CHECK(count("START 0") == 2);
  CHECK(count("START 1") == 2);
  CHECK(count("FAILED 0") == 2);
  CHECK(count("TERMINATED 1") == 2);
  CHECK(count("FAILED agent") == 1);
  REQUIRE_FALSE(events.empty());
  CHECK(states.back() == "FAILED agent");
  CHECK(events.back()["metadata"]["agent_restarts"] == 1);
  CHECK(events.back()["metadata"]["raw_error"].get<std::string>().find(
          "exited with code 3")
        != std::string::npos);
}

TEST_CASE_METHOD(scene, "events: an agent that is terminated has failed",
                 "[events]") {
  auto& x = run({"--event-log-handler=console", "--no-python", "sleep", "60"});
  REQUIRE(x.says("status.START"));
  x.signal(SIGTERM);
  CHECK(x.wait() == 128 + SIGTERM);
  const auto states = brief(events_in(x.output()));
  REQUIRE(states.size() >= 2);
  CHECK(states[states.size() - 2] == "TERMINATED 0");
  CHECK(states.back() == "FAILED agent");
}

} // namespace actorrun::test::events_test
