#include "actors/core/workers/group_stop.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/transcript.hpp"

#include <chrono>
#include <csignal>
#include <string>

namespace actorrun::test::group_stop_test {

using namespace actorrun::core;
using namespace std::chrono_literals;
using state = worker_record::state;

namespace {

/// Worker 0 runs and is live, worker 1 runs, spare 2 is parked.
struct fixture {
  group_stop uut{5s, false};
  worker_table workers{2, 1, {{}, {{2, 102}}, {}}};
  group_orders orders;

  fixture() {
    workers.move({0, 1}, state::running);
    workers[0].is_live = true;
    orders.begin_step(time_point{1s});
  }

  std::string ordered() { return test::transcript(orders.end_step()); }
};

} // namespace

TEST_CASE_METHOD(fixture, "group_stop: who is live is asked to park",
                 "[core]") {
  uut.begin({SIGTERM, 3s, true}, true, workers, orders);
  CHECK(ordered()
        == "signal_workers 15 spared=0,2; ask_to_park 0; arm_timer 1");
  CHECK(uut.may_park());
  CHECK(uut.ordered_at() == time_point{1s});
  CHECK(uut.signal() == SIGTERM);
  SECTION("until no generation follows") {
    CHECK(uut.stop_parked({SIGINT, 2s}, workers, orders));
    CHECK(ordered() == "signal_worker 0 2; signal_worker 2 2; arm_timer 2");
    CHECK(workers.all_in(state::parked).empty());
    CHECK_FALSE(uut.may_park());
    CHECK(uut.signal() == SIGTERM);
  }
  SECTION("or there is no time") {
    CHECK(uut.stop_parked({SIGINT, 0s}, workers, orders));
    CHECK(ordered() == "signal_workers 9; arm_timer 2");
  }
}

TEST_CASE_METHOD(fixture, "group_stop: if none may park all are stopped",
                 "[core]") {
  uut.begin({SIGTERM, 3s}, true, workers, orders);
  CHECK(ordered() == "signal_workers 15; arm_timer 1");
  CHECK(workers.spares_under_way() == worker_table::numbers{2});
}

TEST_CASE_METHOD(fixture, "group_stop: a second kill does not extend the time",
                 "[core]") {
  uut.begin({SIGTERM, 0s, true}, true, workers, orders);
  CHECK(ordered() == "signal_workers 9 spared=2; arm_timer 1");
  uut.kill(workers, orders);
  CHECK(ordered() == "signal_workers 9 spared=2");
  uut.end_parking(workers, orders); // The spare has its own.
  uut.kill(workers, orders);
  CHECK(ordered() == "signal_workers 9; arm_timer 2");
}

TEST_CASE_METHOD(fixture, "group_stop: where none was started the parked end",
                 "[core]") {
  workers.move({0, 1}, state::ended);
  SECTION("unless they may stay") {
    uut.begin({SIGTERM, 3s, true}, false, workers, orders);
    CHECK(ordered().empty());
  }
  SECTION("with time") {
    uut.begin({SIGTERM, 3s}, false, workers, orders);
    CHECK(ordered() == "signal_worker 2 15; arm_timer 1");
  }
}

TEST_CASE_METHOD(fixture, "group_stop: spares on their way are killed once",
                 "[core]") {
  uut.kill_spares(workers, orders);
  CHECK(ordered().empty());
  workers[2].now = state::running;
  uut.kill_spares(workers, orders);
  CHECK(ordered() == "signal_worker 2 9; arm_timer 1");
  uut.kill_spares(workers, orders);
  CHECK(ordered().empty());
}

} // namespace actorrun::test::group_stop_test
