#include "actors/core/workers/worker_group.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/transcript.hpp"

#include <cerrno>
#include <csignal>
#include <string>
#include <vector>

namespace actorrun::test::worker_group_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

using phase = worker_group::phase;

generation_plan plan_of(uint32_t slot_count) {
  return {.generation = {3},
          .own = {.agent = {"a"},
                  .node_rank = 1,
                  .slot_count = slot_count,
                  .first_global_rank = 8,
                  .first_role_rank = 8,
                  .role_world_size = 8 + slot_count},
          .node_count = 2,
          .world_size = 8 + slot_count,
          .master_address = "10.0.0.1",
          .master_port = 29500,
          .restart_count = 0};
}

worker_started started(uint32_t local_rank) {
  return {local_rank, 100 + int64_t(local_rank)};
}

worker_not_started not_started(uint32_t local_rank, int error = EIO) {
  return {local_rank, error};
}

worker_exited exited(uint32_t local_rank, int code = 0) {
  return {local_rank, code, 0, false};
}

worker_exited killed(uint32_t local_rank, int signal, bool dumped = false) {
  return {local_rank, 0, signal, dumped};
}

constexpr auto grace = stop_ordered{SIGTERM, 5s};
constexpr auto at_once = stop_ordered{SIGTERM, 0s};

/// Two workers, global ranks 8 and 9, processes 100 and 101.
struct fixture {
  worker_group uut;
  time_point armed{}; ///< Due time of the latest timer.

  explicit fixture(uint32_t slot_count = 2)
    : uut{plan_of(slot_count), "node-a"} {}

  std::string at(std::chrono::milliseconds t, const worker_group_event& event) {
    const auto effects = uut.step(event, time_point{t});
    for (const auto& x : effects)
      if (const auto* timer = std::get_if<arm_timer>(&x))
        armed = timer->due;
    return test::transcript(effects);
  }

  void run() {
    at(0s, start_ordered{});
    at(0s, workers_prepared{});
    at(0s, started(0));
    at(0s, started(1));
  }
};

} // namespace

TEST_CASE_METHOD(fixture, "worker_group: workers start, run and succeed",
                 "[core]") {
  CHECK(at(0s, start_ordered{}) == "prepare_workers");
  CHECK(at(0s, workers_prepared{}) == "start_workers");
  CHECK(at(0s, started(1)) == "");
  CHECK(uut.current_phase() == phase::starting);
  CHECK(at(0s, started(0)) == "report_started");
  CHECK(uut.current_phase() == phase::running);
  CHECK(at(9s, exited(0)) == "");
  CHECK(at(9s, exited(1)) == "release_workers; report_succeeded");
  CHECK(uut.current_phase() == phase::succeeded);
}

TEST_CASE_METHOD(fixture, "worker_group: the state of every worker can be read",
                 "[core]") {
  using state = worker_record::state;
  REQUIRE(uut.workers().size() == 2);
  CHECK(uut.plan() == plan_of(2));
  at(0s, start_ordered{});
  at(0s, workers_prepared{});
  CHECK(uut.workers()[1].now == state::waiting);
  CHECK(uut.workers()[1].pid == 0);
  at(0s, started(1));
  CHECK(uut.workers()[1].now == state::running);
  CHECK(uut.workers()[1].pid == 101);
  at(0s, exited(1));
  CHECK(uut.workers()[1].now == state::ended);
  CHECK(uut.workers()[1].pid == 101);
  at(0s, not_started(0));
  CHECK(uut.workers()[0].now == state::ended);
  CHECK(uut.workers()[0].pid == 0);
}

TEST_CASE_METHOD(
  fixture,
  "worker_group: a worker that is done early waits for the others' start",
  "[core]") {
  at(0s, start_ordered{});
  at(0s, workers_prepared{});
  at(0s, started(0));
  CHECK(at(0s, exited(0)) == "");
  CHECK(at(0s, started(1)) == "report_started");
  CHECK(at(1s, exited(1)) == "release_workers; report_succeeded");
}

TEST_CASE("worker_group: the smallest and the largest group succeed",
          "[core]") {
  for (const uint32_t count : {1u, 4096u}) {
    auto x = fixture{count};
    x.at(0s, start_ordered{});
    x.at(0s, workers_prepared{});
    for (uint32_t i = 0; i < count; ++i)
      REQUIRE(x.at(0s, started(i)) == (i + 1 < count ? "" : "report_started"));
    for (uint32_t i = count - 1; i > 0; --i)
      REQUIRE(x.at(1s, exited(i)) == "");
    CHECK(x.at(1s, exited(0)) == "release_workers; report_succeeded");
  }
}

// -- failures -----------------------------------------------------------------

TEST_CASE("worker_group: a failure is reported with its cause", "[core]") {
  struct row {
    worker_group_event event;
    std::string how;
  };
  const row rows[] = {
    {exited(1, 7), "exited with code 7"},
    {exited(1, 255), "exited with code 255"},
    {killed(1, SIGSEGV), "was killed by SIGSEGV (signal 11)"},
    {killed(1, SIGABRT, true), "was killed by SIGABRT (signal 6), core dumped"},
    {killed(1, SIGKILL), "was killed by SIGKILL (signal 9)"},
    {killed(1, SIGTERM), "was killed by SIGTERM (signal 15)"},
  };
  for (const auto& x : rows) {
    auto group = fixture{};
    group.run();
    CHECK(group.at(1s, x.event)
          == "report_failed: rank 9 (local rank 1, pid 101) on node-a "
               + x.how);
    CHECK(group.uut.current_phase() == phase::failed);
  }
}

TEST_CASE_METHOD(fixture, "worker_group: a failure names its agent", "[core]") {
  run();
  const auto effects = uut.step(exited(0, 3), time_point{1s});
  REQUIRE(effects.size() == 1);
  CHECK(std::get<report_failed>(effects[0]).failure
        == worker_failure{.agent = {"a"},
                          .host = "node-a",
                          .global_rank = 8,
                          .local_rank = 0,
                          .pid = 100,
                          .kind = failure_kind::exited,
                          .code = 3,
                          .dumped = false});
}

TEST_CASE_METHOD(fixture, "worker_group: a worker that cannot start has failed",
                 "[core]") {
  at(0s, start_ordered{});
  at(0s, workers_prepared{});
  at(0s, started(0));
  CHECK(at(0s, not_started(1, ENOENT))
        == "report_failed: rank 9 (local rank 1) on node-a could not be "
           "started: No such file or directory");
  CHECK(uut.current_phase() == phase::failed);
}

TEST_CASE_METHOD(fixture, "worker_group: a failure comes before the last start",
                 "[core]") {
  at(0s, start_ordered{});
  at(0s, workers_prepared{});
  at(0s, started(0));
  CHECK(at(0s, exited(0, 1))
        == "report_failed: rank 8 (local rank 0, pid 100) on node-a exited "
           "with code 1");
  CHECK(at(0s, started(1)) == ""); // It still has to be stopped.
  CHECK(at(0s, grace) == "signal_workers 15; arm_timer 1");
  CHECK(at(1s, killed(1, SIGTERM)) == "release_workers; report_stopped");
}

TEST_CASE_METHOD(fixture, "worker_group: only the first failure is reported",
                 "[core]") {
  run();
  CHECK(at(1s, exited(0, 1)) != "");
  CHECK(at(1s, killed(1, SIGSEGV)) == "");
  CHECK(uut.current_phase() == phase::failed);
  // Processes left by the workers get the signal before the release.
  CHECK(at(2s, grace)
        == "signal_workers 15; arm_timer 1; release_workers; report_stopped "
           "+1");
}

TEST_CASE_METHOD(fixture,
                 "worker_group: a failure remains one, though others succeed",
                 "[core]") {
  run();
  at(1s, exited(0, 1));
  CHECK(at(2s, exited(1, 0)) == "");
  CHECK(uut.current_phase() == phase::failed);
}

// -- stopping -----------------------------------------------------------------

TEST_CASE_METHOD(fixture, "worker_group: ordered deaths are no failures",
                 "[core]") {
  run();
  CHECK(at(1s, grace) == "signal_workers 15; arm_timer 1");
  CHECK(armed == time_point{6s});
  CHECK(at(2s, exited(0, 1)) == "");
  CHECK(at(3s, killed(1, SIGTERM)) == "release_workers; report_stopped");
  CHECK(uut.current_phase() == phase::stopped);
}

TEST_CASE_METHOD(fixture, "worker_group: workers may use the grace period",
                 "[core]") {
  run();
  at(1s, grace);
  CHECK(at(5s, exited(0)) == "");
  CHECK(at(6s, timer_fired{{1}}) == "signal_workers 9");
  CHECK(at(6s, killed(1, SIGKILL)) == "release_workers; report_stopped");
}

TEST_CASE_METHOD(fixture, "worker_group: no grace period kills at once",
                 "[core]") {
  run();
  CHECK(at(1s, at_once) == "signal_workers 9");
  CHECK(at(1s, timer_fired{{0}}) == ""); // No timer is armed.
  CHECK(at(1s, timer_fired{{1}}) == "");
  CHECK(at(1s, killed(0, SIGKILL)) == "");
  CHECK(at(1s, killed(1, SIGKILL)) == "release_workers; report_stopped");
}

TEST_CASE_METHOD(fixture, "worker_group: the shortest grace period is one",
                 "[core]") {
  run();
  CHECK(at(1s, stop_ordered{SIGUSR1, 1ms}) == "signal_workers 10; arm_timer 1");
  CHECK(armed == time_point{1001ms});
}

TEST_CASE_METHOD(fixture, "worker_group: the first stop order counts",
                 "[core]") {
  run();
  at(1s, grace);
  CHECK(at(2s, stop_ordered{SIGINT, 60s}) == "");
  CHECK(at(3s, at_once) == "");
  CHECK(at(6s, timer_fired{{1}}) == "signal_workers 9");
}

TEST_CASE_METHOD(fixture, "worker_group: killing ends the grace period",
                 "[core]") {
  run();
  at(1s, grace);
  CHECK(at(2s, kill_ordered{}) == "signal_workers 9");
  CHECK(at(6s, timer_fired{{1}}) == "");
  CHECK(at(7s, kill_ordered{}) == "signal_workers 9"); // Harmless.
}

TEST_CASE_METHOD(fixture, "worker_group: an unknown timer is ignored",
                 "[core]") {
  run();
  at(1s, grace);
  CHECK(at(6s, timer_fired{{0}}) == "");
  CHECK(at(6s, timer_fired{{2}}) == "");
  CHECK(at(6s, timer_fired{{1}}) == "signal_workers 9");
  CHECK(at(6s, timer_fired{{1}}) == "");
}

TEST_CASE_METHOD(
  fixture, "worker_group: a worker that is about to start is stopped as well",
  "[core]") {
  at(0s, start_ordered{});
  at(0s, workers_prepared{});
  at(0s, started(0));
  CHECK(at(0s, grace) == "signal_workers 15; arm_timer 1");
  CHECK(at(0s, started(1)) == "");
  CHECK(at(1s, killed(0, SIGTERM)) == "");
  CHECK(at(1s, killed(1, SIGTERM)) == "release_workers; report_stopped");
}

TEST_CASE_METHOD(
  fixture, "worker_group: a worker that cannot start while stopping has ended",
  "[core]") {
  at(0s, start_ordered{});
  at(0s, workers_prepared{});
  at(0s, grace);
  CHECK(at(0s, not_started(0, ENOENT)) == "");
  CHECK(at(0s, not_started(1, ENOENT)) == "release_workers; report_stopped");
}

// -- every event in every phase -----------------------------------------------

namespace {

/// Where a phase allows it, worker 0 runs and worker 1 is in another state.
fixture in_phase(phase x) {
  auto group = fixture{};
  switch (x) {
    case phase::idle:
      break;
    case phase::preparing:
      group.at(0s, start_ordered{});
      break;
    case phase::starting:
      group.at(0s, start_ordered{});
      group.at(0s, workers_prepared{});
      group.at(0s, started(0));
      break;
    case phase::running:
      group.run();
      break;
    case phase::succeeded:
      group.run();
      group.at(0s, exited(0));
      group.at(0s, exited(1));
      break;
    case phase::failed:
      group.run();
      group.at(0s, exited(1, 1));
      break;
    case phase::stopping:
      group.run();
      group.at(0s, grace);
      group.at(0s, exited(1));
      break;
    case phase::stopped:
      group.run();
      group.at(0s, at_once);
      group.at(0s, exited(0));
      group.at(0s, exited(1));
      break;
  }
  REQUIRE(group.uut.current_phase() == x);
  return group;
}

constexpr auto rank_8 = "report_failed: rank 8 (local rank 0, pid 100) on "
                        "node-a exited with code 1";
constexpr auto rank_9 = "report_failed: rank 9 (local rank 1) on node-a could "
                        "not be started: Input/output error";

} // namespace

TEST_CASE("worker_group: every event has its answer in every phase", "[core]") {
  struct row {
    const char* name;
    worker_group_event event;
    // idle, preparing, starting, running, succeeded, failed, stopping, stopped
    std::vector<std::string> answers;
  };
  const auto stop = std::string{"signal_workers 15; arm_timer 1"};
  const auto kill = std::string{"signal_workers 9"};
  const auto done = std::string{"release_workers; report_stopped"};
  const row rows[] = {
    {"start", start_ordered{}, {"prepare_workers", "", "", "", "", "", "", ""}},
    {"prepared",
     workers_prepared{},
     {"", "start_workers", "", "", "", "", "", ""}},
    {"started 0", started(0), {"", "", "", "", "", "", "", ""}},
    {"started 1", started(1), {"", "", "report_started", "", "", "", "", ""}},
    {"not started", not_started(1), {"", "", rank_9, "", "", "", "", ""}},
    {"exited 0", exited(0), {"", "", "", "", "", "", done, ""}},
    {"exited 1", exited(0, 1), {"", "", rank_8, rank_8, "", "", done, ""}},
    {"exited early",
     exited(1, 1),
     {"", "", "", // A worker that has not started cannot end.
      "report_failed: rank 9 (local rank 1, pid 101) on node-a exited with "
      "code 1",
      "", "", "", ""}},
    {"stop", grace, {"", done, stop, stop, "", stop, "", ""}},
    {"stop now", at_once, {"", done, kill, kill, "", kill, "", ""}},
    {"kill", kill_ordered{}, {"", done, kill, kill, "", kill, kill, ""}},
    {"timer", timer_fired{{1}}, {"", "", "", "", "", "", kill, ""}},
    {"stale timer", timer_fired{{2}}, {"", "", "", "", "", "", "", ""}},
  };
  for (const auto& x : rows) {
    REQUIRE(x.answers.size() == 8);
    for (size_t i = 0; i < x.answers.size(); ++i) {
      CAPTURE(x.name, i);
      CHECK(in_phase(phase(i)).at(1s, x.event) == x.answers[i]);
    }
  }
}

TEST_CASE_METHOD(fixture, "worker_group: facts before the start change nothing",
                 "[core]") {
  CHECK(at(0s, started(0)) == "");
  CHECK(at(0s, not_started(1)) == "");
  CHECK(at(0s, start_ordered{}) == "prepare_workers");
  CHECK(at(0s, workers_prepared{}) == "start_workers");
  CHECK(at(0s, started(0)) == "");
  CHECK(at(0s, started(1)) == "report_started");
}

} // namespace actorrun::test::worker_group_test
