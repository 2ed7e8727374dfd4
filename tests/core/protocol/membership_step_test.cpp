#include "actors/core/protocol/membership_step.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/transcript.hpp"

namespace actorrun::test::membership_step_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

TEST_CASE("membership_step: orders keep their order", "[core]") {
  using alarm = membership_step::alarm;
  auto uut = membership_step{};
  uut.add(send_left{});
  uut.arm(alarm::seek, time_point{1s});
  uut.add(drop_link{});
  CHECK(test::transcript(uut.take()) == "send_left; arm_timer 1; drop_link");
  CHECK(uut.take().empty());
  CHECK(uut.due(alarm::seek) == time_point{1s});
  CHECK(uut.take(timer_id{1})->which == alarm::seek);
  CHECK_FALSE(uut.due(alarm::seek));
}

} // namespace actorrun::test::membership_step_test
