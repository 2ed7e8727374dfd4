// A link that does not answer is given up for a second one before the fence falls.
#include "tests/support/membership_fixture.hpp"

namespace actorrun::test::membership_second_way_test {

namespace {

/// Generation 1 runs, the coordinator is elsewhere. The keep-alive of 300 ms is on
/// its way.
struct fixture : membership_fixture {
  fixture() {
    seek();
    at(0s, coordinator_found{true});
    at(0s, accepted());
    at(0s, formed(1));
    at(0s, started(1));
    at(300ms, fire(3));
    at(300ms, control_checked{time_point{300ms}});
  }

  /// It is repeated at 420 ms and, with the second way, at 540 ms.
  void be_silent() {
    REQUIRE(at(420ms, fire(6)) == "arm_timer 7; send_keep_alive");
    REQUIRE(at(540ms, fire(7))
            == "arm_timer 8; send_keep_alive; try_second_way");
  }
};

} // namespace

TEST_CASE_METHOD(fixture,
                 "membership: W1 a second way is tried before the fence falls",
                 "[core]") {
  be_silent();
  CHECK(at(600ms, fire(8)) == "arm_timer 9; send_keep_alive"); // Once.
  SECTION("the coordinator answers there") {
    CHECK(at(650ms, second_way_found{})
          == "drop_link; arm_timer 10; arm_timer 11");
    CHECK(uut.current_link() == link::seeking);
    CHECK(at(650ms, second_way_found{}) == "");
    CHECK(at(651ms, coordinator_disconnected{}) == "seek_coordinator");
    CHECK(at(652ms, coordinator_found{true})
          == "arm_timer 12; arm_timer 13; send_join 1 running");
    at(653ms, accepted());
    CHECK(fence() == 652ms + 900ms);
    CHECK(at(653ms, fire(11)) == ""); // No other attempt.
    CHECK(uut.share() == share_state::running);
  }
  SECTION("the link answers after all") {
    CHECK(at(650ms, granted(300ms))
          == "set_fence; forget_second_way; check_control");
    CHECK(at(651ms, second_way_found{}) == "");
    CHECK(uut.current_link() == link::joined);
  }
  SECTION("the link ends by itself") {
    CHECK(at(650ms, coordinator_disconnected{})
          == "arm_timer 10; arm_timer 11");
    CHECK(at(651ms, second_way_found{}) == "");
    CHECK(at(670ms, fire(11)) == "seek_coordinator");
  }
  SECTION("nothing answers") {
    at(900ms, fire(4));
    CHECK(uut.share() == share_state::stopping);
  }
}

TEST_CASE_METHOD(
  fixture,
  "membership: W1 a second way is tried again where the answer to "
  "the join does not come",
  "[core]") {
  be_silent();
  at(550ms, second_way_found{});
  at(551ms, coordinator_disconnected{});
  at(552ms, coordinator_found{true});
  CHECK(due(12) == 552ms + 225ms);
  CHECK(at(777ms, fire(12)) == "try_second_way");
  CHECK(at(780ms, second_way_found{}) == "drop_link; arm_timer 13");
  CHECK(at(781ms, coordinator_disconnected{}) == "seek_coordinator");
  at(782ms, coordinator_found{true});
  at(783ms, accepted());
  CHECK(fence() == 782ms + 900ms);
}

TEST_CASE(
  "membership: W1 without workers that a fence may kill there is no second way",
  "[core]") {
  auto x = membership_fixture{};
  x.seek();
  x.at(0s, coordinator_found{true});
  x.at(0s, x.accepted());
  x.at(300ms, x.fire(3));
  x.at(300ms, control_checked{time_point{300ms}});
  x.at(420ms, x.fire(5));
  CHECK(x.at(540ms, x.fire(6)) == "arm_timer 7; send_keep_alive");
}

TEST_CASE("membership: W1 a coordinator in the same process has no second way",
          "[core]") {
  auto x = membership_fixture{};
  x.run();
  x.at(300ms, x.fire(3));
  x.at(300ms, control_checked{time_point{300ms}});
  x.at(420ms, x.fire(5));
  CHECK(x.at(540ms, x.fire(6)) == "arm_timer 7; send_keep_alive");
}

} // namespace actorrun::test::membership_second_way_test
