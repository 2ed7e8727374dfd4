// Tests an agent whose workers start ahead of their first generation.
#include "tests/support/membership_fixture.hpp"

namespace actorrun::test::membership_ahead_test {

namespace {

/// An agent without a place, which is asked to start its workers while others run
/// generation 4.
struct fixture : membership_fixture {
  static start_ahead_ordered ahead(uint64_t generation = 4) {
    return {{generation}, 2};
  }

  static group_stopped parked(std::vector<uint32_t> ranks,
                              uint64_t generation = 4) {
    auto x = stopped(generation);
    x.parked = {{}, std::move(ranks)};
    return x;
  }

  void begin() {
    be_in();
    REQUIRE(at(0s, ahead()) == "set_fence; start_group 4");
  }

  void wait() {
    begin();
    REQUIRE(at(1s, parked({0, 1})) == "send_stopped 4 parked=2");
  }
};

} // namespace

TEST_CASE_METHOD(fixture,
                 "membership: T3 workers start ahead, and go on with the first "
                 "generation",
                 "[core]") {
  begin();
  const auto& plan = last<start_group>().plan;
  CHECK(plan.is_ahead);
  CHECK(plan.own.agent == agent_id{"a"});
  CHECK(plan.own.slot_count == 2);
  CHECK(plan.restart_count == 2);
  CHECK(uut.share() == share_state::stopping);
  CHECK_FALSE(uut.plan()); // It takes part in nothing.
  CHECK(at(0s, started(4)) == "");
  CHECK(at(1s, parked({0, 1})) == "send_stopped 4 parked=2");
  CHECK(last<send_stopped>().parked == parked_share{{}, {0, 1}});
  CHECK(at(2s, group_parked{{4}, {{}, {1}}}) == "send_stopped 4 parked=1");
  CHECK(at(3s, ahead()) == "send_stopped 4 parked=1"); // Told again.
  at(3s, control_checked{});
  at(3s, granted(3s));
  CHECK(at(3s, formed(5)) == "set_fence; start_group 5");
  CHECK_FALSE(last<start_group>().plan.is_ahead);
  CHECK(at(3s, started(5)) == "send_started 5");
  CHECK(uut.plan()->generation == generation_id{5});
}

TEST_CASE_METHOD(fixture,
                 "membership: T3 a generation that comes first ends those that "
                 "are not ready",
                 "[core]") {
  begin();
  CHECK(at(0s, formed(5)) == "kill_group 4");
  CHECK_FALSE(last<kill_group>().with_parked); // Those that are, go on.
  CHECK(at(0s, parked({1}))
        == "send_stopped 4 parked=1; set_fence; start_group 5");
}

TEST_CASE_METHOD(fixture, "membership: T3 workers that could not wait are told",
                 "[core]") {
  begin();
  CHECK(at(1s, stopped(4)) == "send_stopped 4");
  // Not again for the same generation.
  CHECK(at(1s, ahead()) == "send_stopped 4");
  CHECK(at(1s, ahead(5)) == "set_fence; start_group 5");
}

TEST_CASE_METHOD(fixture, "membership: T3 none starts ahead", "[core]") {
  SECTION("beside workers that run") {
    run();
    CHECK(at(0s, ahead()) == "");
  }
  SECTION("of an agent that leaves") {
    run();
    at(0s, leave_requested{SIGTERM});
    CHECK(at(0s, ahead()) == "");
  }
  SECTION("without a coordinator") {
    seek();
    CHECK(at(0s, ahead()) == "");
  }
  SECTION("in an older generation") {
    run(5);
    at(0s, revoked(5));
    at(0s, stopped(5));
    CHECK(at(0s, ahead()) == "send_stopped 4");
  }
  SECTION("beside some that are parked") {
    run();
    at(0s, revoked(1));
    at(0s, group_stopped{.generation = {1}, .parked = {{1}, {1}}});
    CHECK(at(0s, ahead()) == "send_stopped 4 parked=1");
  }
}

TEST_CASE_METHOD(fixture, "membership: T3 they end before their agent",
                 "[core]") {
  SECTION("before they are ready") {
    begin();
    CHECK(at(0s, leave_requested{SIGTERM}) == "send_leaving; stop_group 4");
    CHECK(last<stop_group>().signal == SIGTERM);
    CHECK(at(1s, stopped(4)).starts_with("send_stopped 4; send_left"));
  }
  SECTION("when they wait") {
    wait();
    CHECK(at(1s, ended()) == "stop_group 4");
    CHECK(at(1s, stopped(4)).starts_with("send_stopped 4; send_left"));
  }
  SECTION("as it is drained") {
    begin();
    at(0s, drain_ordered{60s});
    CHECK(at(1s, parked({0, 1}))
          == "send_leaving; send_stopped 4 parked=2; stop_group 4");
  }
  SECTION("as they have waited for a place for too long") {
    wait();
    auto over = revoked(4);
    over.is_over = true;
    CHECK(at(60s, over) == "stop_group 4");
  }
}

TEST_CASE_METHOD(fixture,
                 "membership: T3 no coordinator is told of workers that an "
                 "earlier one had started ahead",
                 "[core]") {
  SECTION("of a node that has had no generation") {
    SECTION("when they wait") {
      wait();
    }
    SECTION("before they are ready") {
      begin();
    }
    CHECK(at(1s, coordinator_disconnected{}).find("stop_group 4")
          != std::string::npos);
    CHECK(at(1s, coordinator_found{}).ends_with("send_join"));
    CHECK_FALSE(last<send_join>().held);
    at(1s, accepted());
    CHECK(at(1s, ahead(5)) == ""); // When they have ended.
    CHECK(at(2s, stopped(4)) == "send_stopped 4; send_stopped 5");
    CHECK(at(2s, ahead(6)) == "set_fence; start_group 6");
  }
  SECTION("of a node that has had one") {
    run();
    at(0s, revoked(1));
    at(0s, stopped(1));
    at(0s, ahead());
    at(0s, parked({0, 1}));
    at(1s, coordinator_disconnected{});
    CHECK(at(1s, coordinator_found{}).ends_with("send_join 1 idle"));
    CHECK(last<send_join>().held->parked.local_ranks.empty());
  }
}

TEST_CASE_METHOD(fixture,
                 "membership: T3 the fence ends those that are not ready",
                 "[core]") {
  begin();
  CHECK(at(900ms, fire(4)).starts_with("kill_group 4"));
  CHECK_FALSE(last<kill_group>().with_parked);
}

} // namespace actorrun::test::membership_ahead_test
