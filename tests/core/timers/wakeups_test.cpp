#include "actors/core/timers/wakeups.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <string>

namespace actorrun::test::wakeups_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

struct fixture {
  timer_wakeups uut;

  /// `<id>@<due in ms>`, or nothing.
  std::string want(duration due, duration now = 0s) {
    const auto x = uut.want(time_point{due}, time_point{now});
    return x ? to_string(x->timer) + "@"
                 + std::to_string(x->due.time_since_epoch() / 1ms)
             : "";
  }
};

} // namespace

TEST_CASE_METHOD(fixture, "timer_wakeups: one wake-up in time is enough",
                 "[core]") {
  CHECK(want(30s) == "1@30000");
  CHECK(want(30s) == "");
  CHECK(want(40s) == "");
  CHECK(want(20s) == "2@20000");
  CHECK(want(25s) == "");
  uut.fired({2});
  CHECK(want(25s, 20s) == "3@25000");
  uut.fired({3});
  CHECK(want(40s, 25s) == "");
  uut.fired({1});
  CHECK(want(40s, 30s) == "4@40000");
}

TEST_CASE_METHOD(fixture, "timer_wakeups: an unknown wake-up is ignored",
                 "[core]") {
  want(30s);
  uut.fired({7});
  uut.fired({0});
  CHECK(uut.size() == 1);
  CHECK(want(30s) == "");
}

TEST_CASE_METHOD(fixture, "timer_wakeups: none comes before the minimum delay",
                 "[core]") {
  const auto x = uut.want(time_point{10s}, time_point{20s});
  REQUIRE(x);
  CHECK(x->due == time_point{20s} + wakeup_delay_min);
  CHECK(!uut.want(time_point{20s} + 1ns, time_point{20s}));
}

TEST_CASE_METHOD(fixture, "timer_wakeups: none comes after the maximum delay",
                 "[core]") {
  const auto x = uut.want(time_point::max(), time_point{20s});
  REQUIRE(x);
  CHECK(x->due == time_point{20s} + wakeup_delay_max);
}

TEST_CASE_METHOD(
  fixture, "timer_wakeups: ever earlier deadlines do not accumulate wake-ups",
  "[core]") {
  for (auto due = duration{1h}; due > 0s; due -= 1ms) {
    const auto x = uut.want(time_point{due}, time_point{});
    // In time: this wake-up, or an earlier one.
    if (x)
      REQUIRE(x->due <= time_point{std::max<duration>(due, wakeup_delay_min)});
  }
  CHECK(uut.size() > 8);
  CHECK(uut.size() <= 8 + 60);
}

TEST_CASE("timer_wakeups: any deadline has a wake-up in time", "[core]") {
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    auto random = std::mt19937_64{seed};
    auto uut = timer_wakeups{};
    auto ordered = std::multimap<time_point, timer_id>{};
    auto now = time_point{};
    auto count_max = size_t{0};
    for (int i = 0; i < 5'000; ++i) {
      const auto bits = random() % 40;
      const auto due
        = now + duration{int64_t(random() & ((uint64_t{1} << bits) - 1))};
      if (const auto x = uut.want(due, now))
        ordered.emplace(x->due, x->timer);
      REQUIRE(!ordered.empty());
      REQUIRE(ordered.begin()->first <= std::max(due, now + wakeup_delay_min));
      REQUIRE(uut.size() == ordered.size());
      count_max = std::max(count_max, ordered.size());
      if (random() % 3 == 0) {
        now = ordered.begin()->first;
        uut.fired(ordered.begin()->second);
        ordered.erase(ordered.begin());
      }
    }
    CHECK(count_max <= 8 + 60);
  }
}

} // namespace actorrun::test::wakeups_test
