#include "actors/core/stragglers/node_pace.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::node_pace_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

/// Two workers, ranks 4 and 5, whose steps a test decides.
struct node_pace_fixture {
  node_pace_fixture() { uut.begin({7}); }

  /// `count` steps of a worker in which it computes for so long.
  void steps(uint32_t rank, uint64_t count, duration compute) {
    auto& x = seen[rank];
    x.step_count += count;
    for (uint64_t i = 0; i < count; ++i)
      x.newest.push_back(compute);
    while (x.newest.size() > step_page::newest_max)
      x.newest.erase(x.newest.begin());
  }

  std::optional<pace_report> look(duration t) {
    return uut.step(seen, time_point{t});
  }

  /// Windows of both workers, one per second from 1 s on.
  std::optional<pace_report> windows(int first, int last, duration compute) {
    auto out = std::optional<pace_report>{};
    for (auto i = first; i <= last; ++i) {
      steps(4, 10, compute);
      steps(5, 10, 50ms);
      out = look(1s * i);
    }
    return out;
  }

  std::map<uint32_t, step_reading> seen;
  node_pace uut{{.distance = 6, .windows = 3}};
};

} // namespace

TEST_CASE_METHOD(node_pace_fixture,
                 "node pace: it is told after so many windows, and again when "
                 "it has changed",
                 "[core]") {
  CHECK_FALSE(look(0s));
  CHECK(uut.interval() == 1s);
  CHECK_FALSE(look(0s));
  CHECK(uut.interval() == 2s);
  for (auto i = 0; i < 9; ++i)
    CHECK_FALSE(look(0s));
  CHECK(uut.interval() == 16s);
  steps(4, 1, 100ms);
  steps(5, 1, 50ms);
  CHECK_FALSE(look(0s));
  CHECK(uut.interval() == 250ms);
  CHECK_FALSE(windows(1, 2, 100ms));
  const auto told = windows(3, 3, 100ms);
  REQUIRE(told);
  CHECK(told->generation == generation_id{7});
  CHECK(told->workers
        == std::vector<worker_pace>{{4, 100ms, 100ms}, {5, 50ms, 50ms}});
  CHECK(told->limits == straggler_limits{6, 3});
  CHECK_FALSE(windows(4, 9, 100ms));
  SECTION("a little is no change") {
    CHECK_FALSE(windows(10, 20, 103ms));
  }
  SECTION("the least follows last") {
    CHECK_FALSE(windows(10, 10, 120ms)); // One window is no median.
    const auto now = windows(11, 11, 120ms);
    REQUIRE(now);
    CHECK(now->workers.front() == worker_pace{4, 120ms, 100ms});
    const auto then = windows(12, 12, 120ms);
    REQUIRE(then);
    CHECK(then->workers.front() == worker_pace{4, 120ms, 120ms});
  }
  SECTION("another coordinator is told again") {
    uut.forget_report();
    CHECK(windows(10, 10, 100ms));
    CHECK_FALSE(windows(11, 11, 100ms));
  }
  SECTION("a worker that has gone is told of no more") {
    seen.erase(5);
    const auto now = look(10s);
    REQUIRE(now);
    CHECK(now->workers == std::vector<worker_pace>{{4, 100ms, 100ms}});
  }
  SECTION("a generation begins anew") {
    uut.begin({8});
    CHECK_FALSE(uut.steps_of(4));
    CHECK_FALSE(windows(10, 12, 100ms));
    CHECK(windows(13, 13, 100ms)->generation == generation_id{8});
  }
  SECTION("one that is over is not watched") {
    uut.end();
    CHECK_FALSE(uut.is_watching());
    CHECK_FALSE(windows(10, 20, 200ms));
  }
}

TEST_CASE_METHOD(node_pace_fixture,
                 "node pace: a window has five steps at least, and takes a "
                 "second",
                 "[core]") {
  steps(4, 1, 10ms);
  look(0s);
  steps(4, 4, 10ms);
  look(60s);
  CHECK(uut.steps_of(4) == worker_steps{5, 0s, 0s});
  steps(4, 1, 10ms);
  look(100s);
  CHECK(uut.steps_of(4) == worker_steps{6, 10ms, 20s});
  steps(4, 1'000, 20ms);
  look(100s + 999ms);
  CHECK(uut.steps_of(4) == worker_steps{1'006, 10ms, 20s});
  look(101s);
  CHECK(uut.steps_of(4) == worker_steps{1'006, 20ms, 1ms});
  CHECK_FALSE(uut.steps_of(5));
}

TEST_CASE_METHOD(node_pace_fixture,
                 "node pace: a step that saves does not count in its window",
                 "[core]") {
  steps(4, 1, 10ms);
  look(0s);
  steps(4, 3, 10ms);
  steps(4, 2, 5s);
  look(20s);
  CHECK(uut.steps_of(4)->compute == 10ms);
}

TEST_CASE_METHOD(node_pace_fixture,
                 "node pace: a program that begins again begins new windows",
                 "[core]") {
  steps(4, 1, 100ms);
  steps(5, 1, 50ms);
  look(0s);
  CHECK(windows(1, 3, 100ms));
  seen[4] = {3, {10ms, 10ms, 10ms}};
  const auto now = look(4s);
  REQUIRE(now);
  CHECK(now->workers == std::vector<worker_pace>{{5, 50ms, 50ms}});
  CHECK(uut.steps_of(4) == worker_steps{3, 0s, 0s});
}

TEST_CASE_METHOD(node_pace_fixture,
                 "node pace: what changes at once is told at most once per "
                 "second",
                 "[core]") {
  steps(4, 1, 100ms);
  steps(5, 1, 50ms);
  look(0s);
  windows(1, 2, 100ms);
  steps(4, 5, 100ms);
  CHECK(look(3s)); // Rank 4 alone.
  steps(5, 10, 50ms);
  CHECK_FALSE(look(3'900ms));
  const auto now = look(4s);
  REQUIRE(now);
  CHECK(now->workers.size() == 2);
}

} // namespace actorrun::test::node_pace_test
