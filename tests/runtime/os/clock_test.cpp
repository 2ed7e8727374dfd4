#include "runtime/os/clock.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::clock_test {

using namespace actorrun::detail;

// Two clocks cannot be read at once, and the system may take the processor away
// between them.
TEST_CASE("clock: the time asleep never decreases", "[runtime]") {
  auto last = time_asleep();
  CHECK(last >= core::duration{0});
  auto decreases = 0;
  for (auto i = 0; i < 100'000; ++i) {
    const auto now = time_asleep();
    decreases += now < last ? 1 : 0;
    last = now;
  }
  CHECK(decreases == 0);
}

} // namespace actorrun::test::clock_test
