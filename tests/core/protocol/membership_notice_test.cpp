// Tests how an agent leaves whose machine is about to go.
#include "tests/support/membership_fixture.hpp"

namespace actorrun::test::membership_notice_test {

using fixture = membership_fixture;

TEST_CASE_METHOD(fixture,
                 "membership: a notice is told until something follows",
                 "[core]") {
  run();
  CHECK(at(0s, notice_received{"spot"}) == "send_notice spot; arm_timer 5");
  CHECK(due(5) == 2s);
  CHECK(at(1s, notice_received{"again"}) == ""); // The first one counts.
  SECTION("the coordinator says nothing") {
    CHECK(at(2s, fire(5)) == "send_notice spot; arm_timer 6");
  }
  SECTION("it is drained") {
    CHECK(at(1s, drain_ordered{60s}) == "arm_timer 6; notify_workers 1");
    CHECK(at(2s, fire(5)) == "");
    at(3s, succeeded(1));
    at(3s, coordinator_disconnected{});
    CHECK(last<finish>().how.notice == "spot");
  }
  SECTION("the node cannot leave, and its workers save") {
    CHECK(at(1s, drain_ordered{60s, false, true}) == "notify_workers 1");
    CHECK(at(2s, fire(5)) == "");
    // The workers have not been told that they are to go.
    CHECK(at(3s, failed(1)) == "send_failed 1; stop_group 1");
  }
  SECTION("it leaves for another reason") {
    at(1s, leave_requested{SIGTERM});
    CHECK(at(2s, fire(5)) == "");
  }
}

TEST_CASE_METHOD(fixture,
                 "membership: the next coordinator is told of a notice",
                 "[core]") {
  run();
  at(0s, coordinator_disconnected{});
  CHECK(at(0s, notice_received{"spot"}) == "");
  at(0s, coordinator_found{true});
  CHECK(at(0s, accepted()).find("send_notice spot") != std::string::npos);
  at(0s, drain_ordered{60s, true});
  at(1s, coordinator_disconnected{});
  at(1s, coordinator_found{true});
  CHECK(last<send_join>().held->drain_left == duration{59s});
  CHECK(last<send_join>().held->notice == "spot");
  CHECK(at(1s, accepted()).find("send_notice") == std::string::npos);
}

TEST_CASE_METHOD(fixture,
                 "membership: after it has saved the next is told, too",
                 "[core]") {
  run();
  at(0s, notice_received{"spot"});
  at(0s, drain_ordered{60s, false, true});
  at(0s, coordinator_disconnected{});
  at(0s, coordinator_found{true});
  CHECK(at(0s, accepted()).find("send_notice spot") != std::string::npos);
}

TEST_CASE_METHOD(fixture, "membership: an agent that leaves gives no notice",
                 "[core]") {
  run();
  at(0s, leave_requested{SIGTERM});
  CHECK(at(1s, notice_received{"spot"}) == "");
}

} // namespace actorrun::test::membership_notice_test
