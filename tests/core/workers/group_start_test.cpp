#include "actors/core/workers/group_start.hpp"
#include "tests/support/catch.hpp"

#include <chrono>

namespace actorrun::test::group_start_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

TEST_CASE("group_start: pauses grow, and end with the attempts", "[core]") {
  auto uut = group_start{};
  CHECK(uut.fall_short(time_point{1s}));
  CHECK_FALSE(uut.fall_short(time_point{2s}));
  CHECK(uut.left(time_point{2s}) == 29s);
  CHECK(uut.pause(time_point{2s}) == 100ms);
  CHECK(uut.pause(time_point{2s}) == 200ms);
  for (auto i = 0; i < 3; ++i)
    uut.pause(time_point{2s});
  CHECK(uut.pause(time_point{2s}) == 3s);
  CHECK(uut.pause(time_point{30s}) == 1s);
}

} // namespace actorrun::test::group_start_test
