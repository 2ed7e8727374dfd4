// Workers that are started ahead of their first generation.
#include "actors/core/workers/worker_group.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/only_node_plan.hpp"
#include "tests/support/transcript.hpp"

#include <cerrno>
#include <csignal>
#include <string>

namespace actorrun::test::worker_group_ahead_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

using phase = worker_group::phase;
using state = worker_record::state;

generation_plan ahead_of_three() {
  auto plan = generation_plan{};
  plan.generation = {3};
  plan.own.agent = {"a"};
  plan.own.slot_count = 2;
  plan.is_ahead = true;
  return plan;
}

worker_exited killed(uint32_t local_rank, int signal) {
  return {local_rank, 0, signal, false};
}

/// Two workers, the processes 100 and 101, while others run generation 3.
struct fixture {
  worker_group uut{ahead_of_three(), "node-a", 20s, 30s};

  fixture() {
    CHECK(at(0s, start_ordered{}) == "arm_timer 1; prepare_workers");
    CHECK(at(0s, workers_prepared{}) == "start_workers");
  }

  std::string at(std::chrono::milliseconds t, const worker_group_event& event) {
    return test::transcript(uut.step(event, time_point{t}));
  }

  void start() {
    CHECK(at(0s, worker_started{0, 100}).empty());
    CHECK(at(0s, worker_started{1, 101}).empty());
  }

  std::string park(std::chrono::milliseconds t, uint32_t local_rank) {
    CHECK(at(t, worker_greeted{local_rank}).empty());
    CHECK(at(t, worker_parked{local_rank})
          == "park_worker " + std::to_string(local_rank));
    return at(t, worker_spared{local_rank});
  }

  void be_ready() {
    start();
    park(1s, 0);
    REQUIRE(park(2s, 1) == "release_workers; report_stopped parked=0,1");
    REQUIRE(uut.current_phase() == phase::stopped);
  }
};

} // namespace

TEST_CASE_METHOD(fixture,
                 "worker_group: T3 workers that are started ahead park, and go "
                 "on with their first generation",
                 "[core]") {
  SECTION("all run before the first is parked") {
    be_ready();
  }
  SECTION("one is parked before the last runs") {
    at(0s, worker_started{0, 100});
    CHECK(park(1s, 0).empty());
    CHECK(uut.current_phase() == phase::starting);
    at(1s, worker_started{1, 101});
    CHECK(park(2s, 1) == "release_workers; report_stopped parked=0,1");
  }
  CHECK(uut.parked().generation == generation_id{});
  CHECK(uut.parked().pids == std::map<uint32_t, int64_t>{{0, 100}, {1, 101}});
  uut
    = worker_group{test::only_node_plan(4, 2), "node-a", 20s, 0s, uut.parked()};
  at(3s, start_ordered{});
  CHECK(at(3s, workers_prepared{}) == "resume_workers 0,1; report_started");
  CHECK(at(4s, worker_stepped{0}) == "report_safe_point stepping");
}

TEST_CASE_METHOD(fixture, "worker_group: T3 one that ends ahead has not failed",
                 "[core]") {
  SECTION("before it is parked") {
    start();
    park(1s, 0);
    CHECK(at(1s, worker_exited{1, 1, 0, false})
          == "release_workers; report_stopped parked=0");
  }
  SECTION("and says that it is done") {
    start();
    park(1s, 0);
    CHECK(at(1s, worker_exited{1, 0, 0, false})
          == "release_workers; report_stopped parked=0");
  }
  SECTION("while another one is not ready") {
    start();
    park(1s, 1);
    CHECK(at(1s, killed(1, SIGKILL)).empty());
    CHECK(uut.workers()[1].now == state::ended);
    CHECK(park(2s, 0) == "release_workers; report_stopped parked=0");
  }
  SECTION("when all are parked") {
    be_ready();
    CHECK(at(3s, killed(1, SIGKILL)) == "report_parked 0");
  }
  SECTION("since it could not be started") {
    at(0s, worker_started{0, 100});
    CHECK(at(0s, worker_not_started{.local_rank = 1, .error = ENOENT}).empty());
    CHECK(at(30s, timer_fired{{1}}).empty());
    CHECK(park(31s, 0) == "release_workers; report_stopped parked=0");
  }
}

TEST_CASE_METHOD(fixture,
                 "worker_group: T3 what hangs up before it is parked is killed",
                 "[core]") {
  start();
  at(1s, worker_greeted{0});
  CHECK(at(1s, worker_hung_up{0}) == "signal_worker 0 9");
  CHECK(at(1s, worker_parked{0}).empty());
}

TEST_CASE_METHOD(fixture,
                 "worker_group: T3 workers that are started ahead are stopped",
                 "[core]") {
  start();
  park(1s, 0);
  SECTION("with time, and those that are parked, too") {
    CHECK(at(2s, stop_ordered{SIGTERM, 5s})
          == "signal_workers 15; arm_timer 2");
    CHECK(at(2s, worker_parked{1}).empty());
    at(3s, killed(0, SIGTERM));
    CHECK(at(3s, killed(1, SIGTERM)) == "release_workers; report_stopped");
  }
  SECTION("but for those that are ready, as their generation has come") {
    CHECK(at(2s, kill_ordered{}) == "signal_workers 9 spared=0; arm_timer 2");
    CHECK(at(2s, worker_parked{1}).empty());
    CHECK(at(2s, killed(1, SIGKILL))
          == "release_workers; report_stopped parked=0");
  }
  SECTION("one hangs") {
    at(2s, stop_ordered{SIGTERM, 0s});
    at(2s, killed(0, SIGKILL));
    CHECK(at(22s, timer_fired{{2}})
          == "release_workers; report_stopped unkillable=1");
  }
}

TEST_CASE("worker_group: T3 a start ahead is called off while it is prepared",
          "[core]") {
  auto uut = worker_group{ahead_of_three(), "node-a"};
  uut.step(start_ordered{}, time_point{});
  CHECK(test::transcript(uut.step(kill_ordered{}, time_point{}))
        == "release_workers; report_stopped");
}

TEST_CASE_METHOD(fixture,
                 "worker_group: T3 S5 what is lacking ahead is tried again, "
                 "though another start has failed for good",
                 "[core]") {
  at(0s, worker_not_started{.local_rank = 0, .error = EAGAIN});
  CHECK(at(1s, worker_not_started{.local_rank = 1, .error = ENOENT})
        == "arm_timer 2");
  CHECK(at(1100ms, timer_fired{{2}}) == "start_workers");
}

TEST_CASE_METHOD(fixture,
                 "worker_group: T3 a timer has no effect on one that has ended "
                 "while it was parked",
                 "[core]") {
  start();
  auto overran = worker_overran{.local_rank = 0};
  overran.signal = SIGTERM;
  overran.grace = 3s;
  CHECK(at(1s, overran) == "signal_worker 0 15; arm_timer 2");
  park(2s, 0);
  at(3s, killed(0, SIGTERM));
  CHECK(at(4s, timer_fired{{2}}).empty());
  CHECK(park(5s, 1) == "release_workers; report_stopped parked=1");
}

TEST_CASE("worker_group: T3 what is parked ends though none was started",
          "[core]") {
  const auto parked = parked_workers{{3}, {{0, 100}}, {}};
  auto uut = worker_group{ahead_of_three(), "node-a", 20s, 0s, parked};
  const auto at
    = [&](std::chrono::milliseconds t, const worker_group_event& event) {
        return test::transcript(uut.step(event, time_point{t}));
      };
  at(0s, start_ordered{});
  SECTION("when the start is called off") {
    CHECK(at(1s, stop_ordered{SIGTERM, 5s})
          == "signal_worker 0 15; arm_timer 1");
  }
  SECTION("or later") {
    CHECK(at(1s, kill_ordered{}) == "release_workers; report_stopped parked=0");
    CHECK(at(2s, kill_ordered{true}) == "signal_workers 9; arm_timer 1");
  }
  CHECK(at(3s, killed(0, SIGKILL)) == "release_workers; report_stopped");
}

} // namespace actorrun::test::worker_group_ahead_test
