// How an agent keeps its lease, and what its fence does.
#include "tests/support/membership_fixture.hpp"

#include <cerrno>
#include <string>
#include <utility>

namespace actorrun::test::membership_lease_test {

using fixture = membership_fixture;

// -- keeping it ---------------------------------------------------------------

TEST_CASE_METHOD(fixture, "membership: it sends a keep-alive every interval",
                 "[core]") {
  be_in();
  CHECK(at(300ms, fire(3)) == "arm_timer 5; check_control");
  CHECK(at(301ms, control_checked{time_point{300ms}})
        == "send_keep_alive; arm_timer 6");
  CHECK(last<send_keep_alive>().sent == time_point{300ms});
  CHECK(at(310ms, granted(300ms)) == "");
  CHECK(at(421ms, fire(6)) == "arm_timer 7"); // It need not be repeated.
  CHECK(due(7) == 600ms);
  CHECK(at(650ms, fire(7)) == "arm_timer 8; check_control");
  CHECK(due(8) == 950ms);
  CHECK(at(700ms, fire(3)) == "");
}

TEST_CASE_METHOD(fixture,
                 "membership: the fence counts from when it was confirmed that "
                 "whoever answers leads",
                 "[core]") {
  run();
  CHECK(at(310ms, lease_granted{time_point{300ms}, 250ms}) == "set_fence");
  CHECK(fence() == 950ms);
  CHECK(at(320ms, lease_granted{time_point{310ms}, 300ms}) == "");
}

// Another would lengthen the lease, and not the fence.
TEST_CASE_METHOD(fixture,
                 "membership: a keep-alive is repeated until it is answered",
                 "[core]") {
  be_in();
  at(300ms, fire(3));
  at(305ms, control_checked{time_point{300ms}});
  CHECK(due(6) == 425ms);
  CHECK(at(425ms, fire(6)) == "arm_timer 7; send_keep_alive");
  CHECK(last<send_keep_alive>().sent == time_point{300ms});
  CHECK(due(7) == 545ms);
  CHECK(at(600ms, fire(7)) == "arm_timer 8; send_keep_alive");
  CHECK(last<send_keep_alive>().sent == time_point{300ms});
  SECTION("the answer is followed by the next at once") {
    CHECK(at(650ms, granted(300ms)) == "check_control");
    CHECK(at(651ms, control_checked{time_point{650ms}})
          == "send_keep_alive; arm_timer 9");
    CHECK(last<send_keep_alive>().sent == time_point{650ms});
    CHECK(at(655ms, granted(300ms)) == ""); // The answer to the repetition.
    CHECK(at(660ms, granted(650ms)) == "");
    CHECK(at(771ms, fire(9)) == "arm_timer 10");
    CHECK(at(900ms, fire(10)) == "arm_timer 11; check_control");
  }
  SECTION("another answer is not") {
    CHECK(at(650ms, granted(200ms)) == "");
    CHECK(at(720ms, fire(8)) == "arm_timer 9; send_keep_alive");
    CHECK(last<send_keep_alive>().sent == time_point{300ms});
  }
  SECTION("another link is not kept waiting") {
    at(700ms, coordinator_disconnected{});
    at(720ms, coordinator_found{});
    CHECK(at(730ms, accepted()) == "arm_timer 12; arm_timer 13");
    CHECK(due(12) == 1'030ms);
    CHECK(at(1'030ms, fire(12)) == "arm_timer 14; check_control");
    // The old answer is not the new one's.
    CHECK(at(1'031ms, control_checked{time_point{1'030ms}})
          == "send_keep_alive; arm_timer 15");
    CHECK(at(1'032ms, granted(300ms)) == "");
    SECTION("and waits for its own answer") {
      CHECK(at(1'151ms, fire(15)) == "arm_timer 16; send_keep_alive");
      CHECK(last<send_keep_alive>().sent == time_point{1'030ms});
    }
    SECTION("and nothing is overdue there") {
      CHECK(at(1'033ms, granted(1'030ms)) == "");
    }
  }
}

TEST_CASE_METHOD(fixture,
                 "membership: where the fence is two intervals long, a "
                 "keep-alive is repeated before the next is due",
                 "[core]") {
  join();
  REQUIRE(at(0s, join_accepted{500ms, 1s}) == "arm_timer 3; arm_timer 4");
  REQUIRE(at(500ms, fire(3)) == "arm_timer 5; check_control");
  REQUIRE(at(501ms, control_checked{time_point{500ms}})
          == "send_keep_alive; arm_timer 6");
  CHECK(due(6) == 601ms);
  CHECK(at(600ms, fire(5)) == "");
  SECTION("it is answered") {
    CHECK(at(600ms, granted(500ms)) == "");
    CHECK(at(601ms, fire(6)) == "arm_timer 7");
    CHECK(due(7) == 1s);
    CHECK(at(1s, fire(7)) == "arm_timer 8; check_control");
  }
  SECTION("it is not") {
    for (const auto& [late, timer] :
         {std::pair{601ms, 6}, {701ms, 7}, {801ms, 8}, {901ms, 9}}) {
      CHECK(at(late, fire(timer))
            == "arm_timer " + std::to_string(timer + 1) + "; send_keep_alive");
      CHECK(last<send_keep_alive>().sent == time_point{500ms});
    }
    CHECK(due(10) == 1s);
    SECTION("and is then") {
      CHECK(at(960ms, granted(500ms)) == "");
      CHECK(at(1s, fire(10)) == "arm_timer 11; check_control");
      CHECK(due(11) == 1'500ms);
    }
    SECTION("until the next one is due, which waits for the answer") {
      CHECK(at(1s, fire(10)) == "arm_timer 11; send_keep_alive");
      CHECK(due(11) == 1'100ms);
      CHECK(at(1'010ms, granted(500ms)) == "check_control");
      CHECK(at(1'011ms, control_checked{time_point{1'010ms}})
            == "send_keep_alive; arm_timer 12");
      CHECK(due(12) == 1'111ms);
    }
  }
}

TEST_CASE_METHOD(fixture,
                 "membership: no keep-alive without proof that workers can be "
                 "ended",
                 "[core]") {
  run();
  at(300ms, fire(3));
  SECTION("an answer counts once") {
    CHECK(at(301ms, control_checked{time_point{300ms}})
          == "send_keep_alive; arm_timer 6");
    CHECK(at(302ms, control_checked{time_point{300ms}}).empty());
  }
  SECTION("a late answer proves what was true when it was asked") {
    CHECK(at(600ms, fire(5)) == "arm_timer 6");
    CHECK(at(601ms, control_checked{time_point{200ms}}).empty());
    CHECK(at(602ms, control_checked{time_point{300ms}})
          == "send_keep_alive; arm_timer 7");
    CHECK(last<send_keep_alive>().sent == time_point{300ms});
    CHECK(at(603ms, granted(300ms)) == "set_fence; check_control");
  }
  SECTION("over another link it is asked anew") {
    at(310ms, coordinator_disconnected{});
    at(320ms, coordinator_found{});
    at(330ms, accepted());
    CHECK(at(630ms, fire(9)) == "arm_timer 11; check_control");
  }
  SECTION("without a link there is none") {
    at(310ms, coordinator_disconnected{});
    CHECK(at(311ms, control_checked{time_point{300ms}}).empty());
  }
  SECTION("without answers the fence fires") {
    CHECK(at(900ms, fire(4))
          == "kill_group 1; drop_link; arm_timer 6; arm_timer 7");
  }
}

TEST_CASE_METHOD(fixture, "membership: an answer moves the fence", "[core]") {
  run();
  CHECK(at(310ms, granted(300ms)) == "set_fence");
  CHECK(fence() == 1'200ms); // Counted from the sending, not the answer.
  CHECK(at(320ms, granted(300ms)) == "");
  CHECK(at(330ms, granted(100ms)) == ""); // An answer that was overtaken.
  CHECK(at(900ms, fire(4)) == "arm_timer 5");
  CHECK(due(5) == 1'200ms);
  CHECK(at(1'200ms, fire(5))
        == "kill_group 1; drop_link; arm_timer 6; arm_timer 7");
}

TEST_CASE_METHOD(fixture,
                 "membership: an answer to what was not sent yet moves nothing",
                 "[core]") {
  run();
  CHECK(at(310ms, granted(311ms)) == "");
  CHECK(at(310ms, granted(310ms)) == "set_fence");
  CHECK(fence() == 1'210ms);
}

TEST_CASE_METHOD(fixture, "membership: there is no fence where nothing runs",
                 "[core]") {
  be_in();
  CHECK(at(310ms, granted(300ms)) == "");
  CHECK(at(320ms, formed(1)) == "set_fence; start_group 1");
  CHECK(fence() == 1'200ms);
}

TEST_CASE_METHOD(fixture,
                 "membership: an answer while old workers end begins nothing",
                 "[core]") {
  run();
  at(300ms, formed(2));
  CHECK(at(310ms, granted(300ms)) == "set_fence");
  CHECK(at(320ms, stopped(1)) == "send_stopped 1; set_fence; start_group 2");
}

TEST_CASE_METHOD(fixture,
                 "membership: an answer over a link that is gone counts for "
                 "nothing",
                 "[core]") {
  run_alone();
  CHECK(at(310ms, granted(300ms)) == "");
  CHECK(at(900ms, fire(4)) == "kill_group 1");
}

// -- losing it ----------------------------------------------------------------

TEST_CASE_METHOD(fixture, "membership: without an answer the fence falls",
                 "[core]") {
  run();
  CHECK(at(900ms - 1ms, fire(4)) == "arm_timer 5"); // An abandoned timer.
  CHECK(at(900ms, fire(5))
        == "kill_group 1; drop_link; arm_timer 6; arm_timer 7");
  CHECK(uut.current_link() == link::seeking);
  CHECK(uut.share() == share_state::stopping);
  CHECK(at(901ms, stopped(1)) == "");
  CHECK(at(950ms, coordinator_found{}) == "arm_timer 8; send_join 1 idle");
}

TEST_CASE_METHOD(fixture, "membership: the fence falls while seeking, too",
                 "[core]") {
  run_alone();
  CHECK(at(900ms, fire(4)) == "kill_group 1");
  CHECK(uut.current_link() == link::seeking);
}

TEST_CASE_METHOD(fixture, "membership: the fence falls while joining, too",
                 "[core]") {
  come_back();
  CHECK(at(900ms, fire(4)) == "kill_group 1; drop_link; arm_timer 8");
}

TEST_CASE_METHOD(fixture, "membership: the fence keeps a failure", "[core]") {
  run();
  at(890ms, failed(1));
  CHECK(at(900ms, fire(4))
        == "kill_group 1; drop_link; arm_timer 5; arm_timer 6");
  CHECK(at(901ms, coordinator_found{}) == "arm_timer 7; send_join 1 failed");
}

TEST_CASE_METHOD(fixture,
                 "membership: without workers and a link the fence is nothing",
                 "[core]") {
  at(0s, agent_started{});
  at(0s, coordinator_found{});
  at(300ms, accepted());
  at(310ms, coordinator_disconnected{});
  CHECK(due(4) == 900ms);
  CHECK(at(900ms, fire(4)) == "");
}

TEST_CASE_METHOD(
  fixture,
  "membership: a generation that was revoked while fenced workers "
  "ended is answered",
  "[core]") {
  run();
  at(900ms, fire(4));
  at(920ms, coordinator_found{});
  at(930ms, accepted());
  CHECK(at(940ms, revoked(3)) == "");
  CHECK(at(950ms, stopped(1)) == "send_stopped 1; send_stopped 3");
}

TEST_CASE_METHOD(fixture,
                 "membership: an acceptance at the fence revives no workers",
                 "[core]") {
  run_alone();
  at(100ms, coordinator_found{});
  at(900ms, accepted());
  CHECK(fence() == 900ms);
}

// It would otherwise join again and again, for as long as they take.
TEST_CASE_METHOD(fixture,
                 "membership: one whose killed workers end slowly comes back "
                 "once and stays",
                 "[core]") {
  run();
  CHECK(at(900ms, fire(4))
        == "kill_group 1; drop_link; arm_timer 5; arm_timer 6");
  CHECK(at(920ms, coordinator_found{}) == "arm_timer 7; send_join 1 stopping");
  CHECK(at(930ms, accepted()) == "arm_timer 8; arm_timer 9; set_fence");
  CHECK(due(9) == 900ms); // The fence has passed.
  CHECK(at(930ms, fire(9)) == "arm_timer 10");
  CHECK(due(10) == 1'830ms);                  // While it is accepted.
  CHECK(at(1'220ms, granted(1'210ms)) == ""); // No grant revives them.
  CHECK(at(1'830ms, fire(10)) == "arm_timer 11");
  CHECK(due(11) == 2'120ms);
  CHECK(at(1'900ms, stopped(1)) == "send_stopped 1");
  CHECK(at(2'000ms, formed(2)) == ""); // It waits for the next grant.
  CHECK(at(2'010ms, granted(2'005ms)) == "set_fence; start_group 2");
  CHECK(fence() == 2'905ms);
}

TEST_CASE_METHOD(
  fixture,
  "membership: a generation that waits for a grant is forgotten with "
  "the link",
  "[core]") {
  run();
  at(900ms, fire(4));
  at(920ms, coordinator_found{});
  at(930ms, accepted());
  at(940ms, stopped(1));
  // The fence has passed, so it waits for a grant.
  CHECK(at(950ms, formed(2)) == "");
  at(960ms, coordinator_disconnected{});
  at(970ms, coordinator_found{});
  CHECK(at(980ms, accepted()).find("start_group") == std::string::npos);
  CHECK(at(1'290ms, granted(1'285ms)) == "");
  CHECK(uut.share() == share_state::idle);
}

TEST_CASE_METHOD(fixture,
                 "membership: an agent that cannot be replaced goes on",
                 "[core]") {
  run_alone();
  CHECK(at(500ms, not_found(errc::coordinator_gone, 400ms))
        == "set_fence; arm_timer 7");
  CHECK(fence() == 1'300ms); // There was no coordinator when the attempt began.
  CHECK(at(600ms, not_found(errc::coordinator_gone, 300ms)) == "arm_timer 8");
  CHECK(at(700ms, not_found(errc::connection_timed_out, 600ms))
        == "arm_timer 9"); // There may be an unreachable one.
  CHECK(at(900ms, fire(4)) == "arm_timer 10");
  CHECK(due(10) == 1'300ms);
}

TEST_CASE_METHOD(fixture,
                 "membership: before the first lease there is no fence",
                 "[core]") {
  seek();
  CHECK(at(0s, not_found(errc::coordinator_gone, 0s)) == "arm_timer 2");
  at(0s, coordinator_found{});
  at(0s, accepted_here());
  CHECK(at(1s, granted(1s)) == "");
}

TEST_CASE_METHOD(fixture, "membership: deaths by the fence are no failures",
                 "[core]") {
  run();
  // The machine has killed them; the timer has not arrived yet.
  CHECK(at(900ms, failed(1, failure_kind::signalled, SIGKILL))
        == "kill_group 1; drop_link; arm_timer 5; arm_timer 6");
  CHECK(uut.share() == share_state::stopping);
}

TEST_CASE("membership: other deaths are failures", "[core]") {
  struct row {
    std::chrono::milliseconds when;
    failure_kind kind;
    int code;
  };
  const row rows[] = {
    {900ms - 1ms, failure_kind::signalled, SIGKILL},
    {900ms, failure_kind::signalled, SIGSEGV},
    {900ms, failure_kind::exited, SIGKILL},
    {900ms, failure_kind::exited, ECANCELED},
    {900ms, failure_kind::not_started, ENOENT},
  };
  for (const auto& x : rows) {
    auto agent = fixture{};
    agent.run();
    CHECK(agent.at(x.when, fixture::failed(1, x.kind, x.code))
          == "send_failed 1; stop_group 1");
  }
}

TEST_CASE_METHOD(fixture,
                 "membership: an agent that has slept starts no generation",
                 "[core]") {
  be_in();
  CHECK(at(900ms, formed(1)) == "");
  CHECK(uut.share() == share_state::idle);
}

TEST_CASE_METHOD(fixture,
                 "membership: a fresh grant starts a waiting generation",
                 "[core]") {
  be_in();
  at(900ms, formed(1));
  CHECK(at(900ms, granted(0ms)) == ""); // From before the sleep.
  CHECK(at(901ms, granted(0ms)) == "");
  CHECK(at(950ms, granted(900ms)) == "set_fence; start_group 1");
  CHECK(fence() == 1'800ms);
}

TEST_CASE_METHOD(fixture, "membership: a waiting generation ends with the link",
                 "[core]") {
  be_in();
  at(900ms, formed(1));
  at(950ms, coordinator_disconnected{});
  CHECK(at(960ms, granted(900ms)) == "");
  CHECK(uut.share() == share_state::idle);
}

TEST_CASE_METHOD(fixture,
                 "membership: a slow acceptance does not count as silence",
                 "[core]") {
  at(0s, agent_started{});
  at(0s, coordinator_found{});
  CHECK(at(2s, accepted()) == "arm_timer 3; arm_timer 4; check_control");
  CHECK(at(2s, fire(4)) == "arm_timer 5");
  CHECK(due(5) == 2'900ms); // The fence counts from the acceptance.
  CHECK(at(2'900ms, fire(5)) == "drop_link; arm_timer 6; arm_timer 7");
}

TEST_CASE_METHOD(fixture,
                 "membership: a slow acceptance does not count as silence "
                 "after a generation either",
                 "[core]") {
  run();
  at(0s, revoked(1));
  at(0s, stopped(1));
  at(0s, coordinator_disconnected{});
  at(1s, coordinator_found{});
  CHECK(at(3s, accepted()) == "arm_timer 8; arm_timer 9; check_control");
  CHECK(at(3s, fire(9)) == "arm_timer 10");
  CHECK(due(10) == 3'900ms);
}

TEST_CASE_METHOD(fixture, "membership: an answer after a sleep comes too late",
                 "[core]") {
  run();
  CHECK(at(900ms, granted(300ms)) == "");
  CHECK(at(900ms, fire(4))
        == "kill_group 1; drop_link; arm_timer 5; arm_timer 6");
}

TEST_CASE_METHOD(fixture,
                 "membership: an agent that has slept has no running workers",
                 "[core]") {
  run_alone();
  CHECK(at(900ms, coordinator_found{}) == "arm_timer 7; send_join 1 stopping");
}

TEST_CASE_METHOD(
  fixture, "membership: an agent that has slept forgets the generation to come",
  "[core]") {
  run();
  at(0s, formed(2));
  CHECK(at(900ms, stopped(1)) == "send_stopped 1");
  CHECK(uut.share() == share_state::idle);
}

TEST_CASE_METHOD(fixture,
                 "membership: the fence forgets the generation to come",
                 "[core]") {
  run();
  at(0s, formed(2));
  CHECK(at(900ms, fire(4))
        == "kill_group 1; drop_link; arm_timer 5; arm_timer 6");
  CHECK(at(901ms, stopped(1)) == "");
  at(910ms, coordinator_found{});
  at(920ms, accepted());
  // If the coordinator sends its plan again, it starts.
  CHECK(at(920ms, formed(2)) == "set_fence; start_group 2");
}

TEST_CASE_METHOD(
  fixture,
  "membership: a new generation does not revive workers whose fence "
  "has passed",
  "[core]") {
  run();
  // The timer is late, and the message was.
  CHECK(at(900ms, formed(2))
        == "kill_group 1; drop_link; arm_timer 5; arm_timer 6");
}

TEST_CASE_METHOD(fixture,
                 "membership: it knows since when it has no coordinator, and "
                 "until when",
                 "[core]") {
  be_in();
  CHECK_FALSE(uut.current_search());
  at(100ms, coordinator_disconnected{});
  const auto found = uut.current_search();
  REQUIRE(found);
  CHECK(found->since == time_point{100ms});
  CHECK(found->until > found->since);
  at(200ms, coordinator_found{});
  at(210ms, accepted());
  CHECK_FALSE(uut.current_search());
}

} // namespace actorrun::test::membership_lease_test
