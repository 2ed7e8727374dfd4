// Starts for which processes, descriptors or memory are lacking.
#include "actors/core/shortage.hpp"
#include "actors/core/text.hpp"
#include "actors/core/workers/worker_group.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/transcript.hpp"

#include <cerrno>
#include <csignal>
#include <string>

namespace actorrun::test::worker_group_shortage_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

using phase = worker_group::phase;
using state = worker_record::state;

generation_plan plan_of_three() {
  auto out = generation_plan{};
  out.generation = {3};
  out.own.agent = {"a"};
  out.own.slot_count = 3;
  out.node_count = 1;
  return out;
}

/// Three workers, processes 100 to 102, that are being started at 0 s.
struct fixture {
  worker_group uut{plan_of_three(), "node-a"};
  timer_id timer{}; ///< The latest …
  time_point due{}; ///< … and its due time.

  fixture() {
    at(0s, start_ordered{});
    at(0s, workers_prepared{});
  }

  std::string at(duration t, const worker_group_event& event) {
    const auto effects = uut.step(event, time_point{t});
    for (const auto& x : effects)
      if (const auto* armed = std::get_if<arm_timer>(&x)) {
        timer = armed->timer;
        due = armed->due;
      }
    return test::transcript(effects);
  }

  std::string started(duration t, uint32_t local_rank) {
    return at(t, worker_started{local_rank, 100 + int64_t(local_rank)});
  }

  std::string lacks(duration t, uint32_t local_rank, int error = EAGAIN) {
    return at(t, worker_not_started{
                   local_rank, error, {.subject = "train"}, time_point{t}});
  }

  /// The timer of the next attempt fires.
  std::string again() { return at(due.time_since_epoch(), timer_fired{timer}); }
};

} // namespace

TEST_CASE_METHOD(fixture,
                 "worker_group: S5 a start that lacks a process is tried again",
                 "[core]") {
  CHECK(started(0s, 0) == "");
  CHECK(lacks(0s, 1) == "report_shortage 1: 11");
  CHECK(uut.workers()[1].now == state::delayed);
  CHECK(started(0s, 2) == "arm_timer 1"); // All have answered.
  CHECK(due == time_point{100ms});
  CHECK(again() == "start_workers");
  CHECK(uut.workers()[1].now == state::waiting);
  CHECK(uut.current_phase() == phase::starting);
  CHECK(started(150ms, 1) == "report_started");
}

TEST_CASE_METHOD(
  fixture,
  "worker_group: S5 the pauses grow, and after half a minute it is "
  "a failure",
  "[core]") {
  started(0s, 0);
  started(0s, 1);
  lacks(0s, 2, EMFILE);
  auto last = time_point{};
  auto pauses = std::string{};
  while (due < time_point{30s}) {
    pauses += std::to_string((due - last) / 1ms) + " ";
    last = due;
    REQUIRE(again() == "start_workers");
    REQUIRE(lacks(due.time_since_epoch(), 2, EMFILE).find("arm_timer") == 0);
  }
  CHECK(pauses.find("100 200 400 800 1600 3000 3000 ") == 0);
  CHECK(due == time_point{30s}); // The last attempt.
  CHECK(again() == "start_workers");
  CHECK(
    lacks(30s, 2, EMFILE)
    == "report_failed: rank 2 (local rank 2) on node-a could not be started: "
       "train: Too many open files");
  CHECK(uut.current_phase() == phase::failed);
}

TEST_CASE_METHOD(fixture,
                 "worker_group: S5 only what is lacking is tried again",
                 "[core]") {
  for (const auto error : {EAGAIN, EMFILE, ENFILE, ENOMEM})
    CHECK(is_shortage(error));
  for (const auto error : {ENOENT, EACCES, EIO, ECANCELED, E2BIG, ETIMEDOUT})
    CHECK_FALSE(is_shortage(error));
  for (const auto error : {EAGAIN, EMFILE, ENFILE, ENOMEM})
    CHECK(shortage_in("MASTER_PORT: " + error_text(error)) == error); // U18
  CHECK(shortage_in("MASTER_PORT: " + error_text(EADDRINUSE)) == 0);
  started(0s, 0);
  started(0s, 1);
  CHECK(lacks(0s, 2, ENOENT).find("report_failed") == 0);
}

TEST_CASE_METHOD(fixture, "worker_group: S5 an order to stop ends the attempts",
                 "[core]") {
  started(0s, 0);
  lacks(0s, 1);
  lacks(0s, 2);
  CHECK(at(1s, stop_ordered{SIGTERM, 5s}) == "signal_workers 15; arm_timer 2");
  CHECK(at(1s, worker_exited{0, 0, SIGTERM})
        == "release_workers; report_stopped");
  CHECK(at(2s, timer_fired{{1}}) == "");
}

TEST_CASE_METHOD(
  fixture, "worker_group: S5 a worker that fails meanwhile ends the generation",
  "[core]") {
  started(0s, 0);
  started(0s, 1);
  lacks(0s, 2);
  CHECK(at(1s, worker_exited{0, 7}).find("report_failed") == 0);
  CHECK(again() == "");
  CHECK(lacks(1s, 2) == ""); // It was not tried again.
  at(1s, stop_ordered{SIGTERM, 0s});
  CHECK(at(1s, worker_exited{1, 0, SIGKILL})
        == "release_workers; report_stopped");
}

} // namespace actorrun::test::worker_group_shortage_test
