// Workers that live through a change: they park, and begin the next generation.
#include "actors/core/workers/worker_group.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/only_node_plan.hpp"
#include "tests/support/transcript.hpp"

#include <csignal>
#include <string>
#include <vector>

namespace actorrun::test::worker_group_live_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

using phase = worker_group::phase;
using state = worker_record::state;

constexpr auto slot_count = uint32_t{3};
constexpr auto regroup = stop_ordered{SIGTERM, 5s, true};
constexpr auto stop = stop_ordered{SIGTERM, 5s};

worker_exited exited(uint32_t local_rank, int code = 0) {
  return {local_rank, code, 0, false};
}

worker_exited killed(uint32_t local_rank, int signal) {
  return {local_rank, 0, signal, false};
}

/// Three workers, the processes 100 to 102; 0 and 1 can live through a change.
struct fixture {
  worker_group uut{test::only_node_plan(3, slot_count), "node-a", 20s};

  fixture() {
    at(0s, start_ordered{});
    at(0s, workers_prepared{});
    for (uint32_t i = 0; i < slot_count; ++i)
      at(0s, worker_started{i, 100 + int64_t(i)});
    at(0s, worker_greeted{0});
    at(0s, worker_greeted{1});
    REQUIRE(uut.current_phase() == phase::running);
  }

  std::string at(std::chrono::milliseconds t, const worker_group_event& event) {
    return test::transcript(uut.step(event, time_point{t}));
  }

  /// It says so, and the fence leaves it alone.
  std::string park(std::chrono::milliseconds t, uint32_t local_rank) {
    CHECK(at(t, worker_parked{local_rank})
          == "park_worker " + std::to_string(local_rank));
    return at(t, worker_spared{local_rank});
  }

  /// The next group, in the same place.
  void follow(rank_runs survivors) {
    const auto parked = uut.parked();
    uut
      = worker_group{test::only_node_plan(4, slot_count, std::move(survivors)),
                     "node-a", 20s, 0s, parked};
  }

  void park_both() {
    at(1s, regroup);
    park(1s, 0);
    park(1s, 1);
    at(1s, killed(2, SIGTERM));
    REQUIRE(uut.current_phase() == phase::stopped);
  }
};

} // namespace

TEST_CASE_METHOD(fixture, "worker_group: live workers park, others are stopped",
                 "[core]") {
  CHECK(at(1s, regroup)
        == "signal_workers 15 spared=0,1; ask_to_park 0,1; arm_timer 1");
  CHECK(park(1s, 1).empty());
  CHECK(at(2s, killed(2, SIGTERM)).empty());
  CHECK(uut.current_phase() == phase::stopping);
  CHECK(park(2s, 0) == "release_workers; report_stopped parked=0,1");
  CHECK(uut.current_phase() == phase::stopped);
  CHECK(uut.parked().generation == generation_id{3});
  CHECK(uut.parked().pids == std::map<uint32_t, int64_t>{{0, 100}, {1, 101}});
}

TEST_CASE_METHOD(fixture,
                 "worker_group: one that the fence kills before it leaves it "
                 "alone is not parked",
                 "[core]") {
  at(1s, regroup);
  park(1s, 0);
  at(1s, killed(2, SIGTERM));
  CHECK(at(1s, worker_parked{1}) == "park_worker 1");
  CHECK(uut.current_phase() == phase::stopping); // However long its end takes.
  CHECK(uut.parked().pids.size() == 1);
  SECTION("and has not failed") {
    CHECK(at(2s, killed(1, SIGKILL))
          == "release_workers; report_stopped parked=0");
    CHECK(at(2s, worker_spared{1}).empty());
  }
  SECTION("and is killed as others that are late") {
    CHECK(at(6s, timer_fired{{1}}) == "signal_workers 9 spared=0; arm_timer 2");
    CHECK(at(6s, worker_spared{1}).empty());
  }
  SECTION("and is started anew") {
    at(2s, killed(1, SIGKILL));
    follow({{0, 0}});
    at(2s, start_ordered{});
    CHECK(at(2s, workers_prepared{}) == "resume_workers 0; start_workers");
    CHECK(uut.workers()[1].now == state::waiting);
  }
}

TEST_CASE_METHOD(fixture,
                 "worker_group: what the fence leaves alone is not "
                 "parked for that",
                 "[core]") {
  SECTION("one that runs") {
    CHECK(at(1s, worker_spared{0}).empty());
    CHECK(uut.workers()[0].now == state::running);
  }
  SECTION("one that has hung up since") {
    at(1s, regroup);
    at(1s, worker_parked{0});
    CHECK(at(1s, worker_hung_up{0}) == "signal_worker 0 15");
    CHECK(at(1s, worker_spared{0}).empty());
    CHECK(uut.workers()[0].now == state::running);
  }
  SECTION("one that is to end by now") {
    at(1s, regroup);
    at(1s, worker_parked{0});
    CHECK(at(1s, stop)
          == "signal_worker 0 15; signal_worker 1 15; arm_timer 2");
    CHECK(at(1s, worker_spared{0}).empty());
    CHECK(uut.workers()[0].now == state::running);
  }
}

TEST_CASE_METHOD(fixture, "worker_group: who does not park in time is killed",
                 "[core]") {
  at(1s, regroup);
  park(1s, 0);
  at(1s, killed(2, SIGTERM));
  CHECK(at(6s, timer_fired{{1}}) == "signal_workers 9 spared=0; arm_timer 2");
  CHECK(at(6s, worker_parked{1}).empty()); // Too late: it is as good as dead.
  CHECK(at(6s, killed(1, SIGKILL))
        == "release_workers; report_stopped parked=0");
}

TEST_CASE_METHOD(fixture, "worker_group: without grace none parks", "[core]") {
  CHECK(at(1s, stop_ordered{SIGTERM, 0s, true})
        == "signal_workers 9; arm_timer 1");
  CHECK(at(1s, worker_parked{0}).empty());
}

TEST_CASE_METHOD(fixture, "worker_group: who parks unasked still runs",
                 "[core]") {
  CHECK(at(1s, worker_parked{0}).empty());
  CHECK(uut.workers()[0].now == state::running);
  CHECK(at(1s, stop) == "signal_workers 15; arm_timer 1");
  CHECK(at(1s, worker_parked{0}).empty());
}

TEST_CASE_METHOD(fixture,
                 "worker_group: who greets while it is stopped is not "
                 "asked to park",
                 "[core]") {
  at(1s, regroup);
  CHECK(at(1s, worker_greeted{2}).empty());
  CHECK(at(1s, worker_parked{2}).empty());
  CHECK_FALSE(uut.workers()[2].is_live);
}

TEST_CASE_METHOD(fixture, "worker_group: the failed one ends, its peers park",
                 "[core]") {
  CHECK(at(1s, killed(0, SIGSEGV)).starts_with("report_failed"));
  CHECK(at(1s, regroup)
        == "signal_workers 15 spared=0,1; ask_to_park 1; arm_timer 1");
  park(1s, 1);
  CHECK(at(1s, killed(2, SIGTERM))
        == "release_workers; report_stopped parked=1");
}

TEST_CASE_METHOD(fixture,
                 "worker_group: the next group resumes the parked, and starts "
                 "what is missing",
                 "[core]") {
  park_both();
  follow({{0, 1}});
  CHECK(at(2s, start_ordered{}) == "prepare_workers");
  CHECK(at(2s, workers_prepared{}) == "resume_workers 0,1; start_workers");
  CHECK(uut.workers()[0].pid == 100);
  CHECK(uut.workers()[0].now == state::running);
  CHECK(uut.workers()[2].now == state::waiting);
  CHECK(at(2s, worker_started{2, 103}) == "report_started");
  at(3s, exited(0));
  at(3s, exited(1));
  CHECK(at(3s, exited(2)) == "release_workers; report_succeeded");
}

TEST_CASE_METHOD(fixture,
                 "worker_group: a group of survivors has started at once",
                 "[core]") {
  at(0s, worker_greeted{2});
  at(1s, regroup);
  for (uint32_t i = 0; i < slot_count; ++i)
    park(1s, i);
  follow({{0, 2}});
  at(2s, start_ordered{});
  CHECK(at(2s, workers_prepared{}) == "resume_workers 0,1,2; report_started");
}

TEST_CASE_METHOD(fixture,
                 "worker_group: one that ends parked is no failure, and "
                 "is started anew",
                 "[core]") {
  park_both();
  CHECK(at(1s, exited(0, 1)) == "report_parked 1");
  follow({{1, 1}});
  at(2s, start_ordered{});
  CHECK(at(2s, workers_prepared{}) == "resume_workers 1; start_workers");
}

TEST_CASE_METHOD(fixture,
                 "worker_group: a survivor that has ended has failed in "
                 "the generation that counts on it",
                 "[core]") {
  park_both();
  follow({{0, 1}});
  at(2s, start_ordered{});
  CHECK(at(2s, exited(0, 1)).empty());
  const auto effects = at(2s, workers_prepared{});
  CHECK(effects.find("resume_workers 1") == 0);
  CHECK(effects.find("report_failed") != effects.npos);
  CHECK(effects.find("start_workers") != effects.npos); // Rank 2, and not 0.
  CHECK(uut.workers()[0].now == state::ended);
  CHECK(uut.workers()[0].pid == 0); // The failure is not that process's end.
  CHECK(uut.workers()[2].now == state::waiting);
}

TEST_CASE_METHOD(fixture, "worker_group: one that hangs up parked is killed",
                 "[core]") {
  park_both();
  CHECK(at(1s, worker_hung_up{1}) == "signal_worker 1 9");
  SECTION("and is parked until it has ended") {
    CHECK(uut.parked().pids.size() == 2);
    CHECK(at(1s, killed(1, SIGKILL)) == "report_parked 0");
    CHECK(uut.parked().pids.size() == 1);
  }
  SECTION("and fails a generation that has come before its end") {
    follow({{0, 1}});
    at(2s, start_ordered{});
    CHECK(at(2s, workers_prepared{}) == "resume_workers 0,1; start_workers");
    CHECK(at(2s, killed(1, SIGKILL)).starts_with("report_failed"));
  }
}

TEST_CASE_METHOD(fixture,
                 "worker_group: one that hangs up while it is to park is "
                 "stopped as others",
                 "[core]") {
  at(1s, regroup);
  CHECK(at(1s, worker_hung_up{1}) == "signal_worker 1 15");
}

TEST_CASE_METHOD(fixture,
                 "worker_group: one that has hung up is stopped as usual",
                 "[core]") {
  at(0s, worker_hung_up{1});
  CHECK(at(1s, regroup)
        == "signal_workers 15 spared=0; ask_to_park 0; arm_timer 1");
}

TEST_CASE_METHOD(fixture, "worker_group: an order to end reaches the parked",
                 "[core]") {
  SECTION("all of them") {
    park_both();
    CHECK(at(2s, stop)
          == "signal_worker 0 15; signal_worker 1 15; arm_timer 2");
    CHECK(uut.current_phase() == phase::stopping);
    at(2s, killed(0, SIGTERM));
    CHECK(at(7s, timer_fired{{2}}) == "signal_workers 9; arm_timer 3");
    CHECK(at(7s, killed(1, SIGKILL)) == "release_workers; report_stopped");
  }
  SECTION("also if they have just ended") {
    park_both();
    at(1s, exited(0));
    at(1s, exited(1));
    CHECK(at(2s, stop) == "report_stopped");
    CHECK(at(2s, stop).empty());
  }
  SECTION("while others still park") {
    at(1s, regroup);
    park(1s, 0);
    CHECK(at(2s, stop)
          == "signal_worker 0 15; signal_worker 1 15; arm_timer 2");
    CHECK(at(2s, worker_parked{1}).empty());
  }
  SECTION("at once") {
    park_both();
    CHECK(at(2s, kill_ordered{.with_parked = true})
          == "signal_workers 9; arm_timer 2");
    at(2s, killed(0, SIGKILL));
    CHECK(at(2s, killed(1, SIGKILL)) == "release_workers; report_stopped");
  }
  SECTION("before the next group has begun") {
    park_both();
    follow({});
    at(2s, start_ordered{});
    CHECK(at(2s, stop)
          == "signal_worker 0 15; signal_worker 1 15; arm_timer 1");
    at(2s, killed(0, SIGTERM));
    CHECK(at(2s, killed(1, SIGTERM)) == "release_workers; report_stopped");
  }
}

TEST_CASE_METHOD(fixture,
                 "worker_group: the fence and newer generations leave the "
                 "parked alone",
                 "[core]") {
  park_both();
  CHECK(at(2s, kill_ordered{}).empty());
  CHECK(at(2s, regroup).empty());
  CHECK(uut.parked().pids.size() == 2);
  follow({});
  at(3s, start_ordered{});
  CHECK(at(3s, kill_ordered{}) == "release_workers; report_stopped parked=0,1");
  CHECK(uut.parked().generation
        == generation_id{3}); // They have not begun the fourth.
}

TEST_CASE_METHOD(fixture, "worker_group: a kill does not reach who has parked",
                 "[core]") {
  at(1s, regroup);
  park(1s, 0);
  CHECK(at(2s, kill_ordered{}) == "signal_workers 9 spared=0; arm_timer 2");
  CHECK(at(2s, worker_parked{1}).empty());
}

TEST_CASE_METHOD(fixture,
                 "worker_group: ranks of a node whose lead is another slot",
                 "[core]") {
  auto plan = test::only_node_plan(5, slot_count);
  plan.own.lead_slot = 2;
  CHECK(plan.own.global_rank(2) == 0);
  CHECK(plan.own.global_rank(0) == 2);
  CHECK(plan.own.global_rank(1) == 1);
}

} // namespace actorrun::test::worker_group_live_test
