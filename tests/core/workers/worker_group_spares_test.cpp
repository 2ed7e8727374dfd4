// Processes that wait for the place of a worker that ends.
#include "actors/core/workers/worker_group.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/only_node_plan.hpp"
#include "tests/support/transcript.hpp"

#include <csignal>
#include <string>

namespace actorrun::test::worker_group_spares_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

using phase = worker_group::phase;
using state = worker_record::state;

/// Two workers, the processes 100 and 101, and two spares, 2 and 3.
struct fixture {
  worker_group uut{test::only_node_plan(1, 2), "node-a", 20s, 0s, {}, 2};

  fixture() {
    at(0s, start_ordered{});
    REQUIRE(at(0s, workers_prepared{}) == "start_workers");
    at(0s, worker_started{0, 100});
    REQUIRE(at(0s, worker_started{1, 101}) == "report_started");
  }

  std::string at(std::chrono::milliseconds t, const worker_group_event& event) {
    return test::transcript(uut.step(event, time_point{t}));
  }

  void be_live() {
    CHECK(at(1s, worker_greeted{0}).empty());
    CHECK(at(1s, worker_greeted{1}) == "start_spares 2,3");
    CHECK(at(1s, worker_started{2, 102}).empty());
    CHECK(at(1s, worker_started{3, 103}).empty());
  }

  void park(uint32_t local_rank) {
    at(2s, worker_greeted{local_rank});
    CHECK(at(2s, worker_parked{local_rank})
          == "park_worker " + std::to_string(local_rank));
    at(2s, worker_spared{local_rank});
  }

  /// Worker 1 has failed, worker 0 and spare 2 are parked, spare 3 is gone.
  void change() {
    be_live();
    park(2);
    at(3s, worker_exited{1, 1, 0, false});
    at(3s, stop_ordered{SIGTERM, 5s, true});
    at(3s, worker_exited{3, 0, SIGKILL, false});
    park(0);
    REQUIRE(uut.current_phase() == phase::stopped);
  }

  void begin(const generation_plan& plan) {
    uut = worker_group{plan, "node-a", 20s, 0s, uut.parked(), 2};
    at(4s, start_ordered{});
  }
};

} // namespace

TEST_CASE_METHOD(fixture,
                 "worker_group: T3 spares start when all workers are live, and "
                 "take part in nothing",
                 "[core]") {
  be_live();
  park(2);
  CHECK(uut.workers()[2].now == state::parked);
  CHECK(at(2s, worker_stepped{3}).empty());
  CHECK(at(2s, worker_held{3, 7}).empty());
  CHECK(at(2s, worker_reached{3, 7}).empty());
  CHECK(at(2s, worker_overran{.local_rank = 3, .signal = SIGKILL}).empty());
  // Workers that hold need not wait for them.
  CHECK(at(2s, worker_stepped{0}) == "report_safe_point stepping");
  at(2s, worker_stepped{1});
  CHECK(at(2s, safe_point_order{.what = safe_point_order::kind::hold})
        == "order_steps 0,1 hold");
  SECTION("they end, which is no failure, and are not started again") {
    CHECK(at(3s, worker_exited{3, 1, 0, false}).empty());
    CHECK(at(3s, worker_exited{2, 0, SIGSEGV, false}).empty());
    CHECK(uut.current_phase() == phase::running);
    CHECK(at(3s, worker_greeted{0}).empty());
  }
  SECTION("what hangs up is killed") {
    CHECK(at(3s, worker_hung_up{2}) == "signal_worker 2 9");
    CHECK(at(3s, worker_greeted{3}).empty());
    CHECK(at(3s, worker_hung_up{3}) == "signal_worker 3 9");
  }
}

TEST_CASE_METHOD(fixture,
                 "worker_group: T3 there are no spares beside a worker that is "
                 "not live",
                 "[core]") {
  CHECK(at(1s, worker_greeted{1}).empty());
  CHECK(at(1s, stop_ordered{SIGTERM, 5s, true})
        == "signal_workers 15 spared=1; ask_to_park 1; arm_timer 1");
}

TEST_CASE_METHOD(fixture,
                 "worker_group: T3 a spare that cannot be started is no "
                 "failure",
                 "[core]") {
  at(1s, worker_greeted{0});
  at(1s, worker_greeted{1});
  CHECK(at(1s, worker_not_started{.local_rank = 2, .error = EAGAIN}).empty());
  CHECK(at(1s, worker_not_started{.local_rank = 3, .error = ENOENT}).empty());
  CHECK(uut.workers()[2].now == state::ended);
  at(2s, worker_exited{0, 0, 0, false});
  CHECK(at(2s, worker_exited{1, 0, 0, false})
        == "release_workers; report_succeeded");
}

TEST_CASE_METHOD(fixture,
                 "worker_group: T3 at a change a spare stays if it is parked, "
                 "and else is killed",
                 "[core]") {
  be_live();
  park(2);
  at(3s, worker_greeted{3});
  at(3s, worker_exited{1, 1, 0, false});
  CHECK(at(3s, stop_ordered{SIGTERM, 5s, true})
        == "signal_workers 15 spared=0,1,2; ask_to_park 0; arm_timer 1; "
           "signal_worker 3 9; arm_timer 2");
  CHECK(at(3s, worker_parked{3}).empty()); // Too late.
  CHECK(at(3s, worker_parked{0}) == "park_worker 0");
  CHECK(at(3s, worker_spared{0}).empty()); // One is still there.
  SECTION("until that has ended") {
    CHECK(at(3s, worker_exited{3, 0, SIGKILL, false})
          == "arm_timer 3; release_workers; report_stopped parked=0 spares=1");
  }
  SECTION("until that is given up") {
    CHECK(at(23s, timer_fired{{2}})
          == "arm_timer 3; release_workers; "
             "report_stopped parked=0 spares=1");
  }
  CHECK(uut.parked().pids == std::map<uint32_t, int64_t>{{0, 100}, {2, 102}});
  // No generation comes for a minute.
  CHECK(at(130s, timer_fired{{3}}) == "signal_worker 2 9");
  CHECK(at(130s, worker_exited{2, 0, SIGKILL, false}) == "report_parked 0");
  CHECK(uut.parked().pids == std::map<uint32_t, int64_t>{{0, 100}});
}

// The time of one that was to end alone is not that of all. (Given up with a process that
// lived, an agent left its workers behind.)
TEST_CASE_METHOD(
  fixture,
  "worker_group: T3 a spare that is to end with the others has as "
  "long as they have",
  "[core]") {
  be_live();
  park(2);
  REQUIRE(at(3s, stop_ordered{SIGTERM, 5s, true})
          == "signal_workers 15 spared=0,1,2; ask_to_park 0,1; arm_timer 1; "
             "signal_worker 3 9; arm_timer 2");
  CHECK(at(4s, stop_ordered{SIGTERM, 30s}) // Nothing goes on any more.
        == "signal_worker 0 15; signal_worker 1 15; signal_worker 2 15; "
           "arm_timer 3");
  at(5s, worker_exited{0, 0, SIGTERM, false});
  at(5s, worker_exited{1, 0, SIGTERM, false});
  CHECK(at(23s, timer_fired{{2}}).empty());
  CHECK(uut.workers()[2].now == state::running);
  CHECK(at(34s, timer_fired{{3}}) == "signal_workers 9; arm_timer 4");
  at(34s, worker_exited{3, 0, SIGKILL, false});
  CHECK(at(34s, worker_exited{2, 0, SIGKILL, false})
        == "release_workers; report_stopped");
}

TEST_CASE_METHOD(fixture,
                 "worker_group: T3 one that starts too late is killed at once",
                 "[core]") {
  at(1s, worker_greeted{0});
  at(1s, worker_greeted{1});
  at(1s, worker_started{2, 102});
  at(2s, worker_exited{1, 1, 0, false});
  CHECK(at(2s, stop_ordered{SIGTERM, 5s, true}).find("signal_worker 2 9")
        != std::string::npos);
  CHECK(at(2s, worker_started{3, 103}) == "signal_worker 3 9");
}

TEST_CASE_METHOD(
  fixture,
  "worker_group: T3 a spare takes a vacant place, and another is "
  "started in its place",
  "[core]") {
  change();
  begin(test::only_node_plan(2, 2, {{0, 0}}));
  CHECK(uut.seat_spares() == std::map<uint32_t, uint32_t>{{1, 2}});
  CHECK(uut.parked().pids == std::map<uint32_t, int64_t>{{0, 100}, {1, 102}});
  SECTION("and goes on") {
    CHECK(at(4s, workers_prepared{})
          == "resume_workers 0,1; report_started; start_spares 2,3");
  }
  SECTION("unless it ends before the group has begun") {
    CHECK(at(4s, worker_exited{1, 1, 0, false}).empty());
    CHECK(at(4s, workers_prepared{}) == "resume_workers 0; start_workers");
  }
}

TEST_CASE_METHOD(
  fixture, "worker_group: T3 a spare is no survivor, and does not go ahead",
  "[core]") {
  change();
  auto plan = test::only_node_plan(2, 2, {{0, 1}});
  SECTION("in the place of one") {
    begin(plan);
    CHECK(uut.seat_spares().empty());
  }
  SECTION("nor before its node has a place") {
    plan.is_ahead = true;
    begin(plan);
    CHECK(uut.seat_spares().empty());
  }
  SECTION("nor if the group is stopped before it has begun") {
    plan.survivors = {{0, 0}};
    begin(plan);
    CHECK(at(4s, stop_ordered{SIGTERM, 5s, true}).find("parked=0 spares=1")
          != std::string::npos);
  }
}

TEST_CASE_METHOD(fixture, "worker_group: T3 spares end with the job",
                 "[core]") {
  be_live();
  park(2);
  SECTION("when it is stopped: as workers do") {
    CHECK(at(3s, stop_ordered{SIGTERM, 5s})
          == "signal_workers 15; arm_timer 1");
    at(3s, worker_exited{0, 0, SIGTERM, false});
    at(3s, worker_exited{1, 0, SIGTERM, false});
    at(3s, worker_exited{2, 0, SIGTERM, false});
    CHECK(uut.current_phase() == phase::stopping);
    CHECK(at(8s, timer_fired{{1}}) == "signal_workers 9; arm_timer 2");
    CHECK(at(8s, worker_exited{3, 0, SIGKILL, false})
          == "release_workers; report_stopped");
  }
  SECTION("when it has succeeded: at once") {
    at(3s, worker_exited{0, 0, 0, false});
    CHECK(at(3s, worker_exited{1, 0, 0, false})
          == "signal_worker 2 9; signal_worker 3 9; arm_timer 1");
    at(3s, worker_greeted{3});
    CHECK(at(3s, worker_parked{3}).empty()); // Too late.
    CHECK(at(3s, worker_exited{3, 0, SIGKILL, false}).empty());
    CHECK(at(3s, worker_exited{2, 0, SIGKILL, false})
          == "release_workers; report_succeeded");
  }
  SECTION("and while the next generation is awaited") {
    at(3s, stop_ordered{SIGTERM, 5s, true});
    at(3s, worker_exited{3, 0, SIGKILL, false});
    at(3s, worker_exited{0, 0, SIGKILL, false});
    REQUIRE(at(3s, worker_exited{1, 0, SIGKILL, false})
            == "arm_timer 3; release_workers; report_stopped spares=1");
    SECTION("with time") {
      CHECK(at(4s, stop_ordered{SIGTERM, 5s})
            == "signal_worker 2 15; arm_timer 4");
    }
    SECTION("at once") {
      CHECK(at(4s, kill_ordered{true}) == "signal_workers 9; arm_timer 4");
    }
    CHECK(at(5s, worker_exited{2, 0, SIGTERM, false})
          == "release_workers; report_stopped");
  }
}

} // namespace actorrun::test::worker_group_spares_test
