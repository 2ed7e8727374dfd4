#include "actors/core/alarm_set.hpp"
#include "tests/support/catch.hpp"

#include <chrono>

namespace actorrun::test::alarm_set_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

enum class which { first, second };

} // namespace

TEST_CASE("alarm_set: a timer belongs to the alarm that was armed", "[core]") {
  auto uut = alarm_set<which, 2>{};
  CHECK(uut.arm(which::second, time_point{1s}).timer.value == 1);
  CHECK(uut.arm(which::first, time_point{2s}).due == time_point{2s});
  const auto fired = uut.take({1});
  REQUIRE(fired);
  CHECK(fired->which == which::second);
  CHECK(fired->due == time_point{1s});
  CHECK_FALSE(uut.is_armed(which::second));
  CHECK(uut.is_armed(which::first));
}

TEST_CASE("alarm_set: a timer that was armed again is abandoned", "[core]") {
  auto uut = alarm_set<which, 2>{};
  const auto old = uut.arm(which::first, time_point{1s});
  const auto fresh = uut.arm(which::first, time_point{2s});
  CHECK_FALSE(uut.take(old.timer));
  CHECK(uut.is_armed(which::first));
  CHECK(uut.take(fresh.timer));
}

TEST_CASE("alarm_set: a disarmed timer and timer 0 are ignored", "[core]") {
  auto uut = alarm_set<which, 2>{};
  const auto order = uut.arm(which::first, time_point{1s});
  uut.disarm(which::first);
  CHECK_FALSE(uut.is_armed(which::first));
  CHECK_FALSE(uut.take(order.timer));
  CHECK_FALSE(uut.take({0}));
  CHECK_FALSE(uut.take({99}));
}

TEST_CASE("alarm_set: a further timer is none of an alarm", "[core]") {
  auto uut = alarm_set<which, 2>{};
  CHECK(uut.arm_further(time_point{3s}).timer.value == 1);
  const auto order = uut.arm(which::first, time_point{1s});
  CHECK(order.timer.value == 2);
  CHECK_FALSE(uut.find({1}));
  CHECK(uut.find({2}) == which::first);
  CHECK(uut.is_armed(which::first));
}

} // namespace actorrun::test::alarm_set_test
