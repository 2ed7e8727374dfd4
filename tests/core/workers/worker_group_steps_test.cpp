// Live workers come to one step before a change.
#include "actors/core/workers/worker_group.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/only_node_plan.hpp"
#include "tests/support/transcript.hpp"

#include <csignal>
#include <string>

namespace actorrun::test::worker_group_steps_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

using kind = safe_point_order::kind;

constexpr auto hold = safe_point_order{kind::hold};
constexpr auto go_on = safe_point_order{kind::go_on};
constexpr auto regroup = stop_ordered{SIGTERM, 5s, true};

safe_point_order stop_at(uint64_t step) {
  return {kind::stop_at, step};
}

/// Two live workers.
struct fixture {
  worker_group uut{test::only_node_plan(3, 2), "node-a", 20s};

  fixture() { begin(); }

  void begin() {
    at(start_ordered{});
    at(workers_prepared{});
    for (uint32_t i = 0; i < 2; ++i)
      at(worker_started{i, 100 + int64_t(i)});
    for (uint32_t i = 0; i < 2; ++i)
      at(worker_greeted{i});
  }

  std::string at(const worker_group_event& event) {
    return test::transcript(uut.step(event, time_point{1s}));
  }
};

} // namespace

TEST_CASE_METHOD(fixture,
                 "worker_group: the first step of a generation is told",
                 "[core]") {
  CHECK(at(worker_stepped{1}) == "report_safe_point stepping");
  CHECK(at(worker_stepped{1}) == "");
  CHECK(at(worker_stepped{0}) == "");
}

TEST_CASE("worker_group: a step before all workers run is told when they do",
          "[core]") {
  auto uut = worker_group{test::only_node_plan(3, 2), "node-a"};
  const auto at = [&](const worker_group_event& event) {
    return test::transcript(uut.step(event, time_point{1s}));
  };
  at(start_ordered{});
  at(workers_prepared{});
  at(worker_started{0, 100});
  at(worker_greeted{0});
  CHECK(at(worker_stepped{0}) == "");
  CHECK(at(worker_started{1, 101})
        == "report_started; report_safe_point stepping");
}

TEST_CASE_METHOD(fixture,
                 "worker_group: who has lived on has safe points at once",
                 "[core]") {
  at(worker_stepped{0});
  at(regroup);
  for (uint32_t i = 0; i < 2; ++i) {
    at(worker_parked{i});
    at(worker_spared{i});
  }
  uut
    = worker_group{test::only_node_plan(4, 2), "node-a", 20s, 0s, uut.parked()};
  at(start_ordered{});
  CHECK(at(workers_prepared{})
        == "resume_workers 0,1; report_started; report_safe_point stepping");
}

TEST_CASE_METHOD(fixture, "worker_group: all hold, and go on to one step",
                 "[core]") {
  CHECK(at(hold) == "order_steps 0,1 hold");
  CHECK(at(worker_held{0, 4}) == "");
  CHECK(at(worker_held{1, 5}) == "report_safe_point held 5");
  CHECK(at(stop_at(6)) == "order_steps 0,1 stop_at 6");
  CHECK(at(worker_reached{1, 6}) == "");
  CHECK(at(worker_reached{0, 6}) == "report_safe_point reached 6");
  CHECK(at(go_on) == "order_steps 0,1 go_on");
  CHECK(at(worker_reached{0, 6}) == "");
}

TEST_CASE_METHOD(fixture, "worker_group: who has ended is not waited for",
                 "[core]") {
  at(hold);
  at(worker_held{0, 4});
  CHECK(at(worker_exited{1, 0, 0, false}) == "report_safe_point held 4");
  CHECK(at(stop_at(4)) == "order_steps 0 stop_at 4");
  CHECK(at(worker_exited{0, 0, 0, false})
        == "report_safe_point reached 4; release_workers; report_succeeded");
}

TEST_CASE_METHOD(fixture, "worker_group: who cannot be told refuses",
                 "[core]") {
  SECTION("it has hung up before") {
    at(worker_hung_up{1});
    CHECK(at(hold) == "order_steps 0 hold; report_safe_point refused");
  }
  SECTION("it hangs up") {
    at(hold);
    CHECK(at(worker_hung_up{1}) == "report_safe_point refused");
  }
  SECTION("while it goes on") {
    at(stop_at(4));
    CHECK(at(worker_hung_up{1}) == "report_safe_point refused");
  }
}

TEST_CASE_METHOD(fixture,
                 "worker_group: W2 who has held and never came to a safe point "
                 "refuses",
                 "[core]") {
  at(worker_stepped{0});
  CHECK(at(hold) == "order_steps 0,1 hold");
  CHECK(at(worker_held{0, 4}) == "");
  SECTION("it may have none") {
    CHECK(at(worker_held{1, 0}) == "report_safe_point refused");
  }
  SECTION("it has gone past one just now") {
    CHECK(at(worker_held{1, 4}) == "report_safe_point held 4");
  }
  SECTION("it has in an earlier generation") {
    at(worker_stepped{1});
    at(regroup);
    for (uint32_t i = 0; i < 2; ++i) {
      at(worker_parked{i});
      at(worker_spared{i});
    }
    uut = worker_group{test::only_node_plan(4, 2), "node-a", 20s, 0s,
                       uut.parked()};
    at(start_ordered{});
    at(workers_prepared{});
    at(hold);
    at(worker_held{0, 0});
    CHECK(at(worker_held{1, 0}) == "report_safe_point held 0");
  }
}

TEST_CASE_METHOD(fixture, "worker_group: there are no safe points in a stop",
                 "[core]") {
  at(hold);
  at(regroup);
  CHECK(at(worker_held{0, 4}) == "");
  CHECK(at(worker_held{1, 4}) == "");
  CHECK(at(stop_at(4)) == "");
  CHECK(at(worker_stepped{0}) == "");
  CHECK(at(worker_parked{0}) == "park_worker 0");
}

TEST_CASE_METHOD(
  fixture, "worker_group: the highest step of any worker is told at the end",
  "[core]") {
  at(worker_stepped{1, 17});
  at(worker_stepped{0, 16});
  at(stop_ordered{SIGTERM, 5s});
  at(worker_exited{0, 0, SIGTERM, false});
  const auto effects
    = uut.step(worker_exited{1, 0, SIGTERM, false}, time_point{2s});
  auto told = std::optional<uint64_t>{};
  for (const auto& x : effects)
    if (const auto* stopped = std::get_if<report_stopped>(&x))
      told = stopped->step;
  CHECK(told == 17);
}

} // namespace actorrun::test::worker_group_steps_test
