// Failures that miss a peer are held back, and for how long.
#include "actors/core/workers/worker_group.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/transcript.hpp"

#include <csignal>
#include <string>
#include <vector>

namespace actorrun::test::worker_group_hold_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

using milliseconds = std::chrono::milliseconds;
using phase = worker_group::phase;

constexpr auto worker_count = uint32_t{20};
constexpr auto stop = stop_ordered{SIGTERM, 5s};
constexpr auto hold = timer_fired{{1}};

worker_exited exited(uint32_t local_rank, int code, milliseconds when) {
  auto x = worker_exited{.local_rank = local_rank, .exit_code = code};
  x.when = time_point{when};
  return x;
}

/// A worker that a peer's end has ended.
worker_exited bereft(uint32_t local_rank, milliseconds when) {
  auto x = exited(local_rank, 1, when);
  x.details.traceback = "RuntimeError: Connection closed by peer";
  return x;
}

/// Twenty workers run, on one node of two.
struct fixture {
  explicit fixture(uint32_t node_count = 2)
    : uut{{.generation = {3},
           .own = {.agent = {"a"},
                   .node_rank = 0,
                   .slot_count = worker_count,
                   .first_global_rank = 0,
                   .first_role_rank = 0,
                   .role_world_size = worker_count},
           .node_count = node_count,
           .world_size = node_count * worker_count,
           .master_address = "10.0.0.1",
           .master_port = 29500,
           .restart_count = 0},
          "node-a"} {
    at(0ms, start_ordered{});
    at(0ms, workers_prepared{});
    for (uint32_t i = 0; i < worker_count; ++i)
      at(0ms, worker_started{i, 100 + int64_t(i)});
    REQUIRE(uut.current_phase() == phase::running);
  }

  /// The effects; of a failure that is reported only rank and age:
  /// `failed 3:20`.
  std::string at(milliseconds t, const worker_group_event& event) {
    auto text = std::string{};
    for (const auto& x : uut.step(event, time_point{t})) {
      if (const auto* timer = std::get_if<arm_timer>(&x))
        armed = timer->due;
      const auto* report = std::get_if<report_failed>(&x);
      text += (text.empty() ? "" : "; ")
              + (report == nullptr ? to_string(x)
                                   : "failed " + with_age(report->failure));
      if (const auto* end = std::get_if<report_stopped>(&x))
        others = end->others;
    }
    return text;
  }

  /// Ends all that run with 0 after an order to stop; returns what is reported
  /// then: `0:5 1:3 +2`.
  std::string others_at(milliseconds t) {
    for (uint32_t i = 0; i < worker_count; ++i)
      if (uut.workers()[i].now == worker_record::state::running)
        at(t, exited(i, 0, t));
    REQUIRE(uut.current_phase() == phase::stopped);
    auto text = std::string{};
    for (const auto& x : others.listed)
      text += (text.empty() ? "" : " ") + with_age(x);
    return others.unlisted_count == 0
             ? text
             : text + " +" + std::to_string(others.unlisted_count);
  }

  static std::string with_age(const worker_failure& x) {
    return std::to_string(x.local_rank) + ":" + std::to_string(x.age / 1ms);
  }

  worker_group uut;
  time_point armed{}; ///< Due time of the latest timer.
  collateral others;  ///< At the end.
};

} // namespace

TEST_CASE_METHOD(fixture, "worker_group: a failure that misses a peer waits",
                 "[core]") {
  CHECK(at(20ms, bereft(3, 10ms)) == "arm_timer 1");
  CHECK(armed == time_point{520ms});
  CHECK(uut.current_phase() == phase::running);
  CHECK(at(30ms, bereft(4, 25ms)) == ""); // The first one's time counts.
  CHECK(at(520ms, hold) == "failed 3:510");
  CHECK(uut.current_phase() == phase::failed);
  CHECK(at(530ms, bereft(5, 530ms)) == "");
  CHECK(at(540ms, stop) == "signal_workers 15; arm_timer 2");
  CHECK(others_at(550ms) == "4:525 5:20");
}

TEST_CASE_METHOD(
  fixture,
  "worker_group: a failure with another reason ends the wait of others",
  "[core]") {
  at(20ms, bereft(3, 10ms));
  CHECK(at(50ms, exited(4, 5, 30ms)) == "failed 4:20");
  CHECK(uut.current_phase() == phase::failed);
  CHECK(at(520ms, hold) == "");
  at(530ms, stop);
  CHECK(others_at(550ms) == "3:540");
}

TEST_CASE_METHOD(fixture,
                 "worker_group: a failure that waits is reported with those "
                 "after the first, when all have stopped",
                 "[core]") {
  at(20ms, bereft(3, 10ms));
  CHECK(at(40ms, stop) == "signal_workers 15; arm_timer 2");
  CHECK(at(520ms, hold) == "");
  // It had ended before the order, and is noticed only now.
  CHECK(at(530ms, exited(4, 5, 39ms)) == "");
  CHECK(others_at(550ms) == "3:540 4:511");
}

TEST_CASE_METHOD(fixture, "worker_group: an order to kill ends a wait, too",
                 "[core]") {
  at(20ms, bereft(3, 10ms));
  CHECK(at(40ms, kill_ordered{}) == "signal_workers 9");
  CHECK(others_at(60ms) == "3:50");
}

TEST_CASE("worker_group: when all have ended, a failure waits for other nodes",
          "[core]") {
  const auto node_count = GENERATE(1u, 2u);
  auto x = fixture{node_count};
  x.at(20ms, bereft(3, 10ms));
  for (uint32_t i = 0; i + 1 < worker_count; ++i)
    x.at(30ms, exited(i, 0, 30ms));
  const auto last = x.at(40ms, bereft(worker_count - 1, 40ms));
  if (node_count == 1) {
    CHECK(last == "failed 3:30");
    CHECK(x.at(520ms, hold) == "");
  } else {
    CHECK(last == "");
    CHECK(x.at(520ms, hold) == "failed 3:510");
  }
  CHECK(
    x.at(600ms, stop)
    == "signal_workers 15; arm_timer 2; release_workers; report_stopped +1");
  CHECK(x.others_at(600ms) == "19:560");
}

TEST_CASE_METHOD(
  fixture,
  "worker_group: a worker that outlives its timer's SIGKILL ends "
  "a wait",
  "[core]") {
  auto group = worker_group{uut.plan(), "node-a", 10ms};
  group.step(start_ordered{}, time_point{0ms});
  group.step(workers_prepared{}, time_point{0ms});
  for (uint32_t i = 0; i < worker_count; ++i)
    group.step(worker_started{i, 100}, time_point{0ms});
  CHECK(test::transcript(group.step(bereft(3, 1ms), time_point{1ms}))
        == "arm_timer 1");
  CHECK(test::transcript(group.step(
          worker_overran{.local_rank = 4, .signal = 9}, time_point{2ms}))
        == "signal_worker 4 9; arm_timer 2");
  group.step(timer_fired{{2}}, time_point{12ms});
  CHECK(group.current_phase() == phase::failed);
}

TEST_CASE("worker_group: a wait delays no report of a start", "[core]") {
  auto group = worker_group{fixture{}.uut.plan(), "node-a"};
  const auto at = [&](milliseconds t, const worker_group_event& event) {
    return test::transcript(group.step(event, time_point{t}));
  };
  at(0ms, start_ordered{});
  at(0ms, workers_prepared{});
  for (uint32_t i = 0; i + 1 < worker_count; ++i)
    at(0ms, worker_started{i, 100});
  CHECK(at(5ms, bereft(0, 5ms)) == "arm_timer 1");
  CHECK(at(6ms, worker_started{worker_count - 1, 100}) == "report_started");
  CHECK(at(505ms, hold).starts_with("report_failed: rank 0 "));
}

TEST_CASE_METHOD(fixture,
                 "worker_group: of all that wait the reasons are asked for",
                 "[core]") {
  for (uint32_t i = 0; i <= other_failures_max; ++i) {
    at(10ms, bereft(i, 10ms));
    CHECK(uut.lists_more());
  }
  CHECK(at(20ms, exited(18, 5, 20ms)) == "failed 18:0");
  CHECK_FALSE(uut.lists_more());
  at(30ms, stop);
  CHECK(others_at(30ms).ends_with(" 15:20 +1"));
}

TEST_CASE_METHOD(
  fixture, "worker_group: only the time of a wait does not depend on ends",
  "[core]") {
  at(20ms, bereft(3, 10ms));
  CHECK_FALSE(uut.counts_ends({1}));
  at(30ms, stop);
  CHECK(uut.counts_ends({2}));
  CHECK_FALSE(uut.counts_ends({3})); // Of a worker that is stopped by now.
}

} // namespace actorrun::test::worker_group_hold_test
