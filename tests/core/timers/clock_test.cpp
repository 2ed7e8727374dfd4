#include "actors/core/timers/clock.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::clock_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

/// The monotonic clock began 1000 s after 1970.
struct fixture {
  timer_clock uut;

  duration due(duration expiration, duration offset, duration now) {
    return uut.due(expiration, offset, time_point{now}).time_since_epoch();
  }
};

} // namespace

TEST_CASE_METHOD(fixture, "timer_clock: wall time becomes monotonic time",
                 "[core]") {
  CHECK(due(1030s, 1000s, 20s) == 30s);
  CHECK(due(1010s, 1000s, 20s) == 10s); // Already expired.
  CHECK(due(0s, 1000s, 20s) == -1000s);
}

TEST_CASE_METHOD(fixture,
                 "timer_clock: gradual corrections of the clock are followed",
                 "[core]") {
  CHECK(due(1030s, 1000s, 20s) == 30s);
  CHECK(due(1030s, 1000s + 5ms, 20s) == 30s - 5ms);
  CHECK(due(1030s, 1000s, 20s) == 30s);
}

TEST_CASE_METHOD(fixture, "timer_clock: a step forward ends no earlier timer",
                 "[core]") {
  due(1030s, 1000s, 20s);
  // Written before the step of an hour, read after it.
  CHECK(due(1030s, 4600s, 20s) == 30s);
  // Written after it: an hour late while the step is unknown.
  CHECK(due(4630s, 4600s, 20s + clock_settle - 1ns) == 3630s);
  CHECK(due(4630s, 4600s, 20s + clock_settle) == 30s);
}

TEST_CASE_METHOD(fixture, "timer_clock: a step back ends no later timer",
                 "[core]") {
  due(4630s, 4600s, 20s);
  CHECK(due(1030s, 1000s, 20s) == 30s);
  CHECK(due(4630s, 1000s, 20s) == 3630s);
  CHECK(due(1031s, 1000s, 21s) == 31s);
}

TEST_CASE_METHOD(fixture, "timer_clock: a step is more than five milliseconds",
                 "[core]") {
  due(1030s, 1000s, 20s);
  CHECK(due(1030s, 1000s + clock_step_min, 20s) == 30s - clock_step_min);
  CHECK(due(1030s, 1000s + 2 * clock_step_min + 1ns, 20s)
        == 30s - clock_step_min);
}

TEST_CASE_METHOD(fixture, "timer_clock: out-of-range times are clamped",
                 "[core]") {
  CHECK(due(duration::max(), -1s, 0s) == duration::max());
  due(0s, duration::max(), 1h);
  CHECK(due(0s, duration::max(), 2h) == -duration::max());
  CHECK(saturating_minus(duration::min(), 1ns) == duration::min());
  CHECK(saturating_minus(duration::max(), -1ns) == duration::max());
  CHECK(saturating_minus(5s, 3s) == 2s);
  CHECK(saturating_plus(time_point::max(), 1ns) == time_point::max());
  CHECK(saturating_plus(time_point::min(), -1ns) == time_point::min());
  CHECK(saturating_plus(time_point{5s}, 3s) == time_point{8s});
}

} // namespace actorrun::test::clock_test
