// Tests an agent whose workers outlive SIGKILL.
#include "tests/support/membership_fixture.hpp"

namespace actorrun::test::membership_unkillable_test {

namespace {

struct fixture : membership_fixture {
  static group_stopped stuck(uint64_t generation, uint32_t count = 1) {
    auto x = stopped(generation);
    x.unkillable_count = count;
    return x;
  }

  /// Why it has finished in the latest step.
  const failure& why() const {
    REQUIRE(last<finish>().how.why);
    return *last<finish>().how.why;
  }
};

} // namespace

TEST_CASE_METHOD(
  fixture,
  "membership: an agent that cannot kill its workers reports it and leaves",
  "[core]") {
  run();
  at(1s, revoked(1));
  CHECK(at(2s, stuck(1))
        == "send_stopped 1 unkillable=1; send_left; "
           "arm_timer 5");
  CHECK(last<send_stopped>().unkillable_count == 1);
  CHECK(at(2s, coordinator_disconnected{}) == "finish worker_unkillable");
  CHECK(
    why().text
    == "1 worker of generation 1 on node-a did not end after SIGKILL and hangs "
       "in the kernel");
}

TEST_CASE_METHOD(fixture, "membership: workers that hang are counted",
                 "[core]") {
  run();
  at(1s, revoked(1));
  at(2s, stuck(1, 2));
  at(2s, coordinator_disconnected{});
  CHECK(
    why().text
    == "2 workers of generation 1 on node-a did not end after SIGKILL and hang "
       "in the kernel");
}

TEST_CASE_METHOD(fixture,
                 "membership: no generation begins beside a worker that hangs",
                 "[core]") {
  run();
  at(100ms, formed(2)); // Waits for the workers of generation 1.
  CHECK(at(200ms, stuck(1))
        == "send_stopped 1 unkillable=1; send_stopped 2; send_left; "
           "arm_timer 5");
  CHECK(at(200ms, formed(3)) == "send_stopped 3");
}

TEST_CASE_METHOD(
  fixture, "membership: the end of the job does not hide a worker that hangs",
  "[core]") {
  run();
  at(1s, ended());
  at(2s, stuck(1));
  at(2s, coordinator_disconnected{});
  CHECK(why().code == errc::worker_unkillable);
  CHECK(last<finish>().how.result->kind == outcome::verdict::succeeded);
}

TEST_CASE_METHOD(fixture,
                 "membership: a later end of the job does not hide it either",
                 "[core]") {
  run();
  at(1s, revoked(1));
  at(2s, stuck(1));
  CHECK(at(2s, ended()) == "finish succeeded");
  CHECK(why().code == errc::worker_unkillable);
}

TEST_CASE_METHOD(fixture,
                 "membership: an order to leave does not hide it either",
                 "[core]") {
  run();
  at(1s, leave_requested{SIGTERM});
  at(2s, stuck(1));
  at(2s, coordinator_disconnected{});
  CHECK(why().code == errc::worker_unkillable);
  CHECK(last<finish>().how.signal == SIGTERM);
}

TEST_CASE_METHOD(fixture, "membership: without a link it ends by itself",
                 "[core]") {
  run_alone();
  at(900ms, fire(4)); // The fence: its workers are killed.
  CHECK(at(31s, stuck(1)) == "finish worker_unkillable");
}

} // namespace actorrun::test::membership_unkillable_test
