// Workers of an agent that are parked: told, kept, handed on, and ended.
#include "tests/support/membership_fixture.hpp"

namespace actorrun::test::membership_parked_test {

namespace {

struct fixture : membership_fixture {
  static group_stopped parked(uint64_t generation,
                              std::vector<uint32_t> ranks) {
    auto x = stopped(generation);
    x.parked = {{generation}, std::move(ranks)};
    return x;
  }

  /// Both workers of generation 1 are parked.
  void park() {
    run();
    at(0s, revoked(1));
    at(0s, parked(1, {0, 1}));
  }
};

} // namespace

TEST_CASE_METHOD(fixture,
                 "membership: workers may park for the next generation only",
                 "[core]") {
  run();
  SECTION("a change") {
    at(0s, generation_revoked{{1}, false, "b has left"});
    CHECK(last<stop_group>().may_park);
    CHECK(last<stop_group>().reason == "b has left");
  }
  SECTION("a failure here") {
    at(0s, failed(1));
    CHECK(last<stop_group>().may_park);
    CHECK(at(0s, revoked(1)) == "");
  }
  SECTION("a signal") {
    at(0s, leave_requested{SIGTERM});
    CHECK_FALSE(last<stop_group>().may_park);
  }
  SECTION("the end of the job") {
    at(0s, ended());
    CHECK_FALSE(last<stop_group>().may_park);
  }
}

TEST_CASE_METHOD(fixture,
                 "membership: the coordinator learns how far the workers came",
                 "[core]") {
  run();
  at(0s, revoked(1));
  at(0s, group_stopped{.generation = {1}, .step = 17});
  CHECK(last<send_stopped>().step == 17);
}

TEST_CASE_METHOD(fixture, "membership: the coordinator learns who is parked",
                 "[core]") {
  run();
  at(0s, revoked(1));
  CHECK(at(0s, parked(1, {0, 1})) == "send_stopped 1 parked=2");
  CHECK_FALSE(last<send_stopped>().step);
  CHECK(at(1ms, group_parked{{1}, {{1}, {1}}}) == "send_stopped 1 parked=1");
  CHECK(last<send_stopped>().parked == parked_share{{1}, {1}});
  // A generation that has not begun here: they are still those of the first.
  CHECK(at(2ms, revoked(2)) == "send_stopped 2 parked=1");
  CHECK(last<send_stopped>().parked.generation == generation_id{1});
}

TEST_CASE_METHOD(fixture, "membership: the next generation has them",
                 "[core]") {
  park();
  CHECK(at(1ms, formed(2)) == "set_fence; start_group 2");
  at(1ms, started(2));
  at(2ms, revoked(2));
  CHECK(at(2ms, stopped(2)) == "send_stopped 2");
}

TEST_CASE_METHOD(fixture, "membership: it shows them to the next coordinator",
                 "[core]") {
  park();
  at(1ms, coordinator_disconnected{});
  at(1ms, coordinator_found{true});
  REQUIRE(last<send_join>().held);
  CHECK(last<send_join>().held->parked == parked_share{{1}, {0, 1}});
  CHECK(last<send_join>().held->state == share_state::idle);
}

TEST_CASE_METHOD(fixture, "membership: the fence leaves them alone", "[core]") {
  park();
  for (uint64_t timer = 1; timer < 8; ++timer) {
    at(10s, fire(timer));
    for (const auto& x : effects)
      CHECK_FALSE(std::holds_alternative<kill_group>(x));
  }
}

TEST_CASE_METHOD(fixture, "membership: they end before their agent", "[core]") {
  park();
  SECTION("at the end of the job") {
    CHECK(at(1ms, ended()) == "stop_group 1");
    CHECK_FALSE(last<stop_group>().may_park);
  }
  SECTION("on a signal") {
    CHECK(at(1ms, leave_requested{SIGTERM}) == "send_leaving; stop_group 1");
    SECTION("and at once on a second") {
      CHECK(at(2ms, leave_requested{SIGTERM}) == "kill_group 1");
      CHECK(last<kill_group>().with_parked);
    }
  }
  SECTION("when it is drained") {
    CHECK(at(1ms, drain_ordered{60s}) == "send_leaving; stop_group 1");
  }
  const auto rest = at(3ms, stopped(1));
  CHECK(rest.find("send_stopped 1; send_left") == 0);
}

TEST_CASE_METHOD(fixture,
                 "membership: workers that park when the job ends are "
                 "stopped",
                 "[core]") {
  run();
  at(0s, revoked(1));
  SECTION("before they are parked") {
    CHECK(at(0s, ended()) == "stop_group 1");
    CHECK_FALSE(last<stop_group>().may_park);
  }
  SECTION("because one hangs") {
    auto x = parked(1, {0});
    x.unkillable_count = 1;
    CHECK(at(0s, x) == "send_stopped 1 unkillable=1 parked=1; stop_group 1");
  }
}

TEST_CASE_METHOD(
  fixture,
  "membership: N14 workers that were parked for too long are ended, "
  "and that is told when they have",
  "[core]") {
  park();
  auto over = revoked(1);
  over.is_over = true;
  CHECK(at(60s, over) == "stop_group 1");
  CHECK_FALSE(last<stop_group>().may_park);
  CHECK(at(61s, stopped(1)) == "send_stopped 1");
}

} // namespace actorrun::test::membership_parked_test
