// Tests what makes a clock one that a node cannot take part with.
#include "actors/core/checks/clock_reading.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::clock_reading_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

clock_reading good() {
  return {.is_synchronised = true,
          .error = 400us,
          .error_max = 12ms,
          .unix_seconds = 1'796'000'000};
}

} // namespace

TEST_CASE("clock_reading: a clock in step is well up to the limit", "[core]") {
  auto x = good();
  CHECK(fault_of(x).empty());
  CHECK(to_string(x)
        == "in step, off by 0.4 ms as is estimated, by 12.0 ms at the most");
  x.error = clock_error_max;
  CHECK(fault_of(x).empty());
  x.error += 1us;
  CHECK(fault_of(x).starts_with("the clock is off by 100.0 ms"));
}

TEST_CASE("clock_reading: without a service the estimate says nothing",
          "[core]") {
  auto x = good();
  x.is_synchronised = false;
  CHECK(fault_of(x).starts_with("no service keeps the clock in step"));
  CHECK(to_string(x).starts_with("not synchronised"));
}

TEST_CASE("clock_reading: a clock that was reset is named first", "[core]") {
  auto x = good();
  x.is_synchronised = false;
  x.unix_seconds = clock_unix_min;
  CHECK(fault_of(x).starts_with("no service"));
  x.unix_seconds = clock_unix_min - 1;
  CHECK(fault_of(x).starts_with("the clock shows a time before 2025"));
}

} // namespace actorrun::test::clock_reading_test
