// Tests how an agent leaves that an operator drains.
#include "tests/support/membership_fixture.hpp"

namespace actorrun::test::membership_drain_test {

using fixture = membership_fixture;

TEST_CASE_METHOD(fixture, "membership: a drained agent gives notice and waits",
                 "[core]") {
  run();
  CHECK(at(0s, drain_ordered{60s}) == "arm_timer 5; notify_workers 1");
  CHECK(due(5) == 60s);
  CHECK(at(1s, drain_ordered{1s}) == ""); // The first one counts.
  // At the deadline it leaves as on a signal, but in order.
  CHECK(at(60s, fire(5)) == "send_leaving; stop_group 1");
  CHECK(at(61s, stopped(1)) == "send_stopped 1; send_left; arm_timer 6");
  at(61s, coordinator_disconnected{});
  CHECK(last<finish>().how == ending{});
}

TEST_CASE_METHOD(fixture, "membership: a drained agent goes with its workers",
                 "[core]") {
  run();
  at(0s, drain_ordered{60s});
  CHECK(at(2s, succeeded(1))
        == "send_leaving; send_stopped 1; send_left; arm_timer 6");
}

TEST_CASE_METHOD(fixture,
                 "membership: after notice a worker's end is no failure",
                 "[core]") {
  run();
  at(0s, drain_ordered{60s});
  CHECK(at(1s, failed(1, failure_kind::signalled, SIGUSR1))
        == "send_leaving; stop_group 1");
  auto rest = stopped(1);
  rest.others.add(failure_by(failure_kind::exited, 1));
  CHECK(at(1s, rest) == "send_stopped 1; send_left; arm_timer 6");
  CHECK(last<send_stopped>().others.empty());
}

TEST_CASE_METHOD(fixture, "membership: a failure before the notice is one",
                 "[core]") {
  run();
  at(10s, lease_granted{time_point{10s}});
  at(10s, drain_ordered{60s});
  auto early = failed(1);
  early.failure.age = 1s;
  CHECK(at(10'500ms, early) == "send_failed 1; stop_group 1");
  CHECK(at(11s, stopped(1))
        == "send_leaving; send_stopped 1; send_left; arm_timer 6");
}

TEST_CASE_METHOD(fixture, "membership: workers that start get notice then",
                 "[core]") {
  be_in();
  at(0s, formed(1));
  CHECK(at(0s, drain_ordered{60s}) == "arm_timer 5");
  CHECK(at(1s, started(1)) == "send_started 1; notify_workers 1");
}

TEST_CASE_METHOD(fixture, "membership: without workers it leaves at once",
                 "[core]") {
  be_in();
  CHECK(at(0s, drain_ordered{60s}) == "send_leaving; send_left; arm_timer 5");
}

TEST_CASE_METHOD(fixture, "membership: a drained agent begins no generation",
                 "[core]") {
  run();
  at(0s, drain_ordered{60s});
  CHECK(at(1ms, revoked(1)) == "stop_group 1");
  CHECK(at(2ms, stopped(1))
        == "send_leaving; send_stopped 1; send_left; arm_timer 6");
}

TEST_CASE_METHOD(fixture, "membership: a drained agent leaves once", "[core]") {
  run();
  at(0s, drain_ordered{60s});
  at(1s, leave_requested{SIGTERM});
  CHECK(at(60s, fire(5)) == "");
}

TEST_CASE_METHOD(fixture,
                 "membership: the next coordinator learns how long it stays",
                 "[core]") {
  run();
  at(0s, coordinator_disconnected{});
  at(0s, coordinator_found{true});
  CHECK_FALSE(last<send_join>().held->drain_left);
  at(0s, accepted());
  at(0s, drain_ordered{60s});
  at(1s, coordinator_disconnected{});
  at(1s, coordinator_found{true});
  CHECK(last<send_join>().held->drain_left == duration{59s});
}

TEST_CASE_METHOD(fixture, "membership: an agent that leaves is not drained",
                 "[core]") {
  run();
  at(0s, leave_requested{SIGTERM});
  CHECK(at(1s, drain_ordered{60s}) == "");
}

} // namespace actorrun::test::membership_drain_test
