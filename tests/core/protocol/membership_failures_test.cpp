// Which failures of its workers an agent reports, when, and how old they are by
// then.
#include "tests/support/membership_fixture.hpp"

#include <cerrno>

namespace actorrun::test::membership_failures_test {

namespace {

using milliseconds = std::chrono::milliseconds;

worker_failure failure_of(uint32_t local_rank, duration age,
                          failure_kind kind = failure_kind::exited,
                          int code = 1) {
  auto x = membership_fixture::failure_by(kind, code);
  x.local_rank = local_rank;
  x.age = age;
  return x;
}

struct fixture : membership_fixture {
  static group_failed failed_at(milliseconds told, worker_failure failure) {
    return {{1}, std::move(failure), time_point{told}};
  }

  static group_stopped stopped_at(milliseconds told, collateral others) {
    return {{1}, 0, std::move(others), time_point{told}};
  }

  /// The failures that the latest step has sent as stopped: `0:5 1:3 +2`, local
  /// ranks with ages in ms, and how many are not listed.
  std::string others() const {
    auto text = std::string{};
    const auto& xs = last<send_stopped>().others;
    for (const auto& x : xs.listed)
      text += (text.empty() ? "" : " ") + std::to_string(x.local_rank) + ":"
              + std::to_string(x.age / 1ms);
    return xs.unlisted_count == 0
             ? text
             : text + " +" + std::to_string(xs.unlisted_count);
  }
};

} // namespace

// -- how old a failure is -----------------------------------------------------

TEST_CASE_METHOD(fixture,
                 "membership: a failure is as old as it is when reported",
                 "[core]") {
  run();
  at(110ms, failed_at(100ms, failure_of(1, 7ms)));
  CHECK(last<send_failed>().failure.age == 17ms); // 10 ms in the mailbox.
}

TEST_CASE_METHOD(fixture, "membership: without a time its age is unchanged",
                 "[core]") {
  run();
  at(110ms, group_failed{{1}, failure_of(1, 7ms)});
  CHECK(last<send_failed>().failure.age == 7ms);
}

TEST_CASE_METHOD(fixture, "membership: a repeated report has a greater age",
                 "[core]") {
  run_alone();
  at(100ms, failed_at(100ms, failure_of(1, 7ms)));
  at(200ms, coordinator_found{});
  CHECK(last<send_join>().held->failure->age == 107ms);
  at(210ms, coordinator_disconnected{});
  at(300ms, coordinator_found{});
  CHECK(last<send_join>().held->failure->age == 207ms);
}

TEST_CASE_METHOD(fixture,
                 "membership: other failures do not make the first younger",
                 "[core]") {
  run_alone();
  at(100ms, failed_at(100ms, failure_of(1, 7ms)));
  at(150ms, stopped_at(150ms, {{failure_of(0, 2ms)}, 0}));
  at(200ms, coordinator_found{});
  CHECK(last<send_join>().held->failure->age == 107ms);
}

// -- what else has failed -----------------------------------------------------

TEST_CASE_METHOD(fixture, "membership: failures after the first are sent along",
                 "[core]") {
  run();
  at(100ms, failed_at(100ms, failure_of(1, 0ms)));
  CHECK(at(130ms, stopped_at(120ms, {{failure_of(0, 15ms)}, 2}))
        == "send_stopped 1 +3");
  CHECK(others() == "0:25 +2");
}

TEST_CASE_METHOD(fixture,
                 "membership: failures before the order to stop are sent along",
                 "[core]") {
  run();
  at(100ms, revoked(1));
  CHECK(at(105ms, failed_at(101ms, failure_of(1, 20ms))) == "");
  CHECK(uut.share() == share_state::stopping);
  CHECK(at(200ms, stopped_at(200ms, {{failure_of(0, 110ms)}, 0}))
        == "send_stopped 1 +2");
  CHECK(others() == "1:119 0:110");
}

TEST_CASE_METHOD(fixture,
                 "membership: other failures are reported as often as asked",
                 "[core]") {
  run();
  at(100ms, failed_at(100ms, failure_of(1, 0ms)));
  at(110ms, coordinator_disconnected{});
  CHECK(at(130ms, stopped_at(130ms, {{failure_of(0, 5ms)}, 0})) == "");
  at(140ms, coordinator_found{});
  at(150ms, accepted());
  CHECK(at(160ms, revoked(1)) == "send_stopped 1 +1");
  CHECK(others() == "0:35");
  CHECK(at(170ms, revoked(1)) == "send_stopped 1 +1");
  CHECK(others() == "0:45");
}

TEST_CASE_METHOD(
  fixture, "membership: other failures of one generation are not the next's",
  "[core]") {
  run();
  at(100ms, failed_at(100ms, failure_of(1, 0ms)));
  at(130ms, stopped_at(130ms, {{failure_of(0, 5ms)}, 0}));
  at(140ms, revoked(1));
  at(150ms, formed(2));
  at(160ms, revoked(2));
  CHECK(at(170ms, group_stopped{{2}}) == "send_stopped 2");
}

TEST_CASE_METHOD(
  fixture, "membership: other failures of an older generation are dropped",
  "[core]") {
  run();
  at(100ms, failed_at(100ms, failure_of(1, 0ms)));
  at(130ms, stopped_at(130ms, {{failure_of(0, 5ms)}, 0}));
  CHECK(at(140ms, revoked(2)) == "send_stopped 2");
}

TEST_CASE_METHOD(fixture, "membership: the failures sent along are bounded",
                 "[core]") {
  run();
  at(100ms, failed_at(100ms, failure_of(1, 0ms)));
  auto many = collateral{};
  for (uint32_t i = 0; i < other_failures_max; ++i)
    many.add(failure_of(i, 1ms));
  at(130ms, stopped_at(130ms, many));
  CHECK(last<send_stopped>().others == many);
  at(131ms, stopped_at(131ms, {{failure_of(99, 0ms)}, 0}));
  CHECK(last<send_stopped>().others.listed.size() == other_failures_max);
  CHECK(last<send_stopped>().others.unlisted_count == 1);
}

// -- deaths by the fence ------------------------------------------------------

TEST_CASE_METHOD(
  fixture, "membership: a worker that died before the fence was not fenced",
  "[core]") {
  run();
  const auto kill = failure_kind::signalled;
  // The agent slept; the machine saw the death 1 ms before the fence.
  CHECK(at(950ms, failed_at(950ms, failure_of(1, 51ms, kill, SIGKILL)))
        == "send_failed 1; stop_group 1");
  auto other = fixture{};
  other.run();
  CHECK(other.at(950ms, failed_at(950ms, failure_of(1, 50ms, kill, SIGKILL)))
        == "kill_group 1; drop_link; arm_timer 5; arm_timer 6");
}

TEST_CASE_METHOD(fixture,
                 "membership: past the fence a death is by the fence, whatever "
                 "the timer says",
                 "[core]") {
  const auto timer = failure_kind::timer_expired;
  run();
  CHECK(at(950ms, failed_at(950ms, failure_of(1, 51ms, timer, SIGKILL)))
        == "send_failed 1; stop_group 1");
  auto other = fixture{};
  other.run();
  CHECK(other.at(950ms, failed_at(950ms, failure_of(1, 50ms, timer, SIGKILL)))
        == "kill_group 1; drop_link; arm_timer 5; arm_timer 6");
  auto asked = fixture{};
  asked.run();
  CHECK(asked.at(950ms, failed_at(950ms, failure_of(1, 50ms, timer, SIGTERM)))
        == "send_failed 1; stop_group 1"); // The fence sends no SIGTERM.
}

TEST_CASE_METHOD(fixture,
                 "membership: a start that the fence called off is no failure",
                 "[core]") {
  be_in();
  at(0s, formed(1));
  CHECK(at(950ms, failed_at(950ms, failure_of(1, 0ms, failure_kind::not_started,
                                              ECANCELED)))
        == "kill_group 1; drop_link; arm_timer 5; arm_timer 6");
}

TEST_CASE_METHOD(
  fixture,
  "membership: a fence that fired before it was moved has killed "
  "the workers",
  "[core]") {
  const auto kill = failure_kind::signalled;
  run();
  REQUIRE(at(890ms, granted(800ms)) == "set_fence");
  CHECK(last<set_fence>().running == generation_id{1});
  // The agent was stopped before it did that.
  CHECK(at(950ms, fence_fired{{1}, time_point{900ms}})
        == "kill_group 1; drop_link; arm_timer 5; arm_timer 6");
  at(951ms, coordinator_found{});
  CHECK(at(952ms, stopped_at(952ms, {{failure_of(0, 53ms, kill, SIGKILL),
                                      failure_of(1, 52ms, kill, SIGKILL)},
                                     0}))
        == "send_stopped 1 +1");
  CHECK(others() == "0:53");
}

TEST_CASE_METHOD(fixture,
                 "membership: a fence that fired when nothing ran is nothing",
                 "[core]") {
  run();
  CHECK(at(950ms, fence_fired{{2}, time_point{900ms}}) == "");
  at(10ms, stopped(1));
  CHECK(at(950ms, fence_fired{{1}, time_point{900ms}}) == "");
}

TEST_CASE_METHOD(fixture, "membership: deaths by the fence are not reported",
                 "[core]") {
  const auto kill = failure_kind::signalled;
  run();
  at(100ms, failed_at(100ms, failure_of(1, 0ms)));
  CHECK(at(950ms, stopped_at(950ms, {{failure_of(0, 51ms, kill, SIGKILL),
                                      failure_of(2, 50ms, kill, SIGKILL),
                                      failure_of(3, 50ms, kill, SIGSEGV)},
                                     0}))
        == "send_stopped 1 +2");
  CHECK(others() == "0:51 3:50");
}

TEST_CASE_METHOD(fixture,
                 "membership: without a link, deaths by the fence are known",
                 "[core]") {
  run();
  REQUIRE(at(900ms, fire(4)).starts_with("kill_group 1"));
  at(901ms,
     failed_at(901ms, failure_of(1, 0ms, failure_kind::signalled, SIGKILL)));
  at(902ms, failed_at(902ms, failure_of(0, 10ms)));
  at(903ms, coordinator_found{});
  CHECK(at(904ms, stopped_at(904ms, {})) == "send_stopped 1 +1");
  CHECK(others() == "0:12");
}

} // namespace actorrun::test::membership_failures_test
