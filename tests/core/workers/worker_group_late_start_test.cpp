// How a group treats starts that take too long, as on a file system that hangs.
#include "actors/core/workers/worker_group.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/transcript.hpp"

#include <cerrno>
#include <csignal>
#include <string>

namespace actorrun::test::worker_group_late_start_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

using phase = worker_group::phase;

constexpr auto stop = stop_ordered{SIGTERM, 5s};
constexpr auto deadline = timer_fired{{1}};

/// Two workers, global ranks 8 and 9, which must run after 120 s.
struct fixture {
  worker_group uut{plan(), "node-a", 30s, 120s};

  static generation_plan plan() {
    auto x = generation_plan{};
    x.generation = {3};
    x.own.agent = {"a"};
    x.own.slot_count = 2;
    x.own.first_global_rank = 8;
    return x;
  }

  std::string at(std::chrono::milliseconds t, const worker_group_event& event) {
    return test::transcript(uut.step(event, time_point{t}));
  }
};

} // namespace

TEST_CASE_METHOD(fixture,
                 "worker_group: folders that are not made are a failure",
                 "[core]") {
  const auto effects = uut.step(start_ordered{}, time_point{1s});
  REQUIRE(effects.size() == 2);
  CHECK(std::get<arm_timer>(effects[0]).due == time_point{121s});
  CHECK(at(121s, deadline)
        == "report_failed: rank 8 (local rank 0) on node-a could not be "
           "started: its log folders were not made within 120 s; a file system "
           "may hang");
  CHECK(at(121s, stop) == "release_workers; report_stopped");
  // Too late: the group may have been replaced.
  CHECK(at(122s, workers_prepared{}).empty());
  CHECK(at(122s, worker_started{0, 100}).empty());
}

TEST_CASE_METHOD(fixture,
                 "worker_group: a program that is not executed is a failure",
                 "[core]") {
  at(0s, start_ordered{});
  at(10s, workers_prepared{});
  at(10s, worker_started{0, 100});
  CHECK(at(120s, deadline)
        == "report_failed: rank 9 (local rank 1) on node-a could not be "
           "started: its program or its output files were not opened within "
           "120 s; a file system may hang");
  CHECK(uut.current_phase() == phase::failed);
  CHECK(at(120s, stop) == "signal_workers 15; arm_timer 2");
  CHECK(at(120s, worker_exited{.local_rank = 0, .signal = SIGTERM}).empty());
  // It is waited for like a worker that runs: what hangs could run yet.
  CHECK(at(125s, timer_fired{{2}}) == "signal_workers 9; arm_timer 3");
  CHECK(at(155s, timer_fired{{3}})
        == "release_workers; report_stopped +1 unkillable=1");
}

TEST_CASE_METHOD(fixture, "worker_group: a late program may end the wait",
                 "[core]") {
  at(0s, start_ordered{});
  at(0s, workers_prepared{});
  at(0s, worker_started{0, 100});
  at(120s, deadline);
  at(120s, stop);
  at(120s, worker_exited{.local_rank = 0, .signal = SIGTERM});
  SECTION("it runs, and is killed") {
    CHECK(at(121s, worker_started{1, 101}).empty());
    CHECK(at(121s, worker_exited{.local_rank = 1, .signal = SIGKILL})
          == "release_workers; report_stopped");
  }
  SECTION("it is called off") {
    CHECK(at(121s, worker_not_started{1, ECANCELED})
          == "release_workers; report_stopped");
  }
}

TEST_CASE_METHOD(fixture, "worker_group: the deadline ends with the starts",
                 "[core]") {
  at(0s, start_ordered{});
  at(0s, workers_prepared{});
  at(0s, worker_started{0, 100});
  SECTION("all run") {
    at(0s, worker_started{1, 101});
    CHECK(at(120s, deadline).empty());
    CHECK(uut.current_phase() == phase::running);
  }
  SECTION("one has failed") {
    at(0s, worker_not_started{1, ENOENT});
    CHECK(at(120s, deadline).empty());
  }
  SECTION("all are stopping") {
    at(0s, stop);
    CHECK(at(120s, deadline).empty());
  }
}

} // namespace actorrun::test::worker_group_late_start_test
