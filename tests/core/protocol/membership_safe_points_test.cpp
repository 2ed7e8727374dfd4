// An agent's part in coming to a safe point: it passes on orders and answers.
#include "tests/support/membership_fixture.hpp"

namespace actorrun::test::membership_safe_points_test {

namespace {

using kind = safe_point_report::kind;

constexpr auto hold = safe_point_order{safe_point_order::kind::hold};

struct fixture : membership_fixture {
  static group_safe_point said(uint64_t generation, kind what,
                               uint64_t step = 0) {
    return {{generation}, {what, step}};
  }
};

} // namespace

TEST_CASE_METHOD(fixture, "membership: it passes on orders and answers",
                 "[core]") {
  run();
  CHECK(at(0s, safe_point_ordered{{1}, hold}) == "order_safe_point 1 hold");
  CHECK(at(0s, said(1, kind::held, 4)) == "send_safe_point 1 held 4");
}

// It would be killed by a signal that it does not handle yet.
TEST_CASE_METHOD(fixture,
                 "membership: a worker that is being started gets no notice of "
                 "a limit",
                 "[core]") {
  be_in();
  at(0s, formed(1));
  CHECK(at(0s, limit_near{60s}) == "");
  CHECK(at(0s, started(1)) == "send_started 1");
}

TEST_CASE_METHOD(fixture,
                 "membership: workers with safe points save before a limit",
                 "[core]") {
  run();
  SECTION("without, they get notice") {
    CHECK(at(0s, limit_near{60s}) == "notify_workers 1");
    at(0s, coordinator_disconnected{});
    CHECK(at(1s, limit_near{59s}) == "notify_workers 1");
  }
  SECTION("they are asked to") {
    at(0s, said(1, kind::stepping));
    CHECK(at(0s, limit_near{60s}) == "send_safe_point 1 wanted 60.0 s");
  }
  SECTION("a coordinator that does not know of it is told") {
    at(0s, said(1, kind::stepping));
    at(0s, coordinator_disconnected{});
    CHECK(at(0s, limit_near{60s}) == "");
    at(5s, coordinator_found{true});
    CHECK(at(5s, accepted())
            .ends_with("send_safe_point 1 stepping; "
                       "send_safe_point 1 wanted 55.0 s"));
  }
  SECTION("as long as that has a point") {
    at(0s, said(1, kind::stepping));
    at(0s, limit_near{1s});
    at(1s, coordinator_disconnected{});
    at(1s, coordinator_found{true});
    CHECK(at(1s, accepted()).ends_with("send_safe_point 1 stepping"));
  }
  SECTION("but workers that stop have no time for it") {
    at(0s, said(1, kind::stepping));
    at(0s, revoked(1));
    CHECK(at(0s, limit_near{60s}) == "");
    // Those that follow have.
    at(0s, stopped(1));
    at(0s, formed(2));
    at(0s, started(2));
    CHECK(at(0s, said(2, kind::stepping))
          == "send_safe_point 2 stepping; send_safe_point 2 wanted 60.0 s");
    CHECK(at(0s, said(2, kind::stepping)) == "send_safe_point 2 stepping");
  }
}

TEST_CASE_METHOD(fixture,
                 "membership: what is of another generation goes nowhere",
                 "[core]") {
  run();
  CHECK(at(0s, safe_point_ordered{{2}, hold}) == "");
  CHECK(at(0s, said(2, kind::held, 4)) == "");
  at(0s, revoked(1));
  CHECK(at(0s, safe_point_ordered{{1}, hold}) == "");
  CHECK(at(0s, said(1, kind::held, 4)) == "");
}

TEST_CASE_METHOD(fixture,
                 "membership: drained at a safe point, its workers get no "
                 "notice",
                 "[core]") {
  SECTION("they run") {
    run();
    CHECK(at(0s, drain_ordered{60s, true}) == "arm_timer 5");
    // They do not know of it: a failure is one.
    CHECK(at(1s, failed(1)) == "send_failed 1; stop_group 1");
    CHECK(at(1s, stopped(1))
          == "send_leaving; send_stopped 1; send_left; arm_timer 6");
  }
  SECTION("but when another coordinator knows of no safe point") {
    run();
    at(0s, drain_ordered{60s, true});
    CHECK(at(1s, drain_ordered{59s, true}) == "");
    CHECK(at(1s, drain_ordered{59s}) == "notify_workers 1");
    CHECK(at(2s, drain_ordered{58s}) == "");
    CHECK(at(60s, fire(5)) == "send_leaving; stop_group 1");
  }
  SECTION("they start") {
    be_in();
    at(0s, formed(1));
    CHECK(at(0s, drain_ordered{60s, true}) == "arm_timer 5");
    CHECK(at(1s, started(1)) == "send_started 1");
  }
  SECTION("they are there") {
    run();
    at(0s, drain_ordered{60s, true});
    CHECK(at(1s, revoked(1)) == "stop_group 1");
    auto parked = stopped(1);
    parked.parked = {{1}, {0, 1}};
    CHECK(at(1s, parked)
          == "send_leaving; send_stopped 1 parked=2; stop_group 1");
    CHECK(at(2s, stopped(1)) == "send_stopped 1; send_left; arm_timer 6");
  }
}

TEST_CASE_METHOD(fixture,
                 "membership: the next coordinator learns what the workers "
                 "have answered last",
                 "[core]") {
  run();
  at(0s, said(1, kind::stepping));
  at(0s, said(1, kind::held, 4));
  at(0s, coordinator_disconnected{});
  CHECK(at(0s, said(1, kind::reached, 4)) == "");
  at(0s, coordinator_found{true});
  CHECK(at(0s, accepted()).find("send_safe_point 1 reached 4")
        != std::string::npos);
}

TEST_CASE_METHOD(fixture,
                 "membership: an answer to an older order is not repeated",
                 "[core]") {
  run();
  at(0s, said(1, kind::held, 4));
  at(0s, safe_point_ordered{{1}, {safe_point_order::kind::go_on}});
  at(0s, coordinator_disconnected{});
  at(0s, coordinator_found{true});
  CHECK(at(0s, accepted()).find("send_safe_point 1 stepping")
        != std::string::npos);
}

TEST_CASE_METHOD(fixture,
                 "membership: the next coordinator learns of an order that has "
                 "no answer yet",
                 "[core]") {
  run();
  at(0s, said(1, kind::stepping));
  const auto what
    = GENERATE(safe_point_order::kind::hold, safe_point_order::kind::stop_at);
  at(0s, safe_point_ordered{{1}, {what, 4, 3}});
  at(0s, coordinator_disconnected{});
  at(0s, coordinator_found{true});
  at(0s, accepted());
  CHECK(last<send_safe_point>().report
        == safe_point_report{.what = kind::stepping, .round = 3});
}

} // namespace actorrun::test::membership_safe_points_test
