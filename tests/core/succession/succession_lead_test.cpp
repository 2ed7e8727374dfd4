// Tests how an agent leads, writes the charter, changes voters and hands over. Rules
// have the numbers of decision 0061.
#include "tests/support/succession_fixture.hpp"

namespace actorrun::test::succession_lead_test {

namespace {

using fixture = succession_fixture;
using phase = succession::phase;

} // namespace

TEST_CASE_METHOD(fixture, "succession: whoever founds a job leads it at once",
                 "[core]") {
  CHECK(at(0ms, job_founded{{.revision = 1}})
        == "keep_tombstone 1 with 0.0; keep_tombstone 1 with 1.1; "
           "set_leadership_end 340; open_coordinator, silence 0; "
           "ask_decider");
  CHECK(at(1ms, job_founded{}) == "");
  CHECK(uut.leader() == n2);
}

// -- rule 3: the lease ------------------------------------------------------------

TEST_CASE_METHOD(fixture, "succession, rule 3: the lease counts from sending",
                 "[core]") {
  lead();
  CHECK(uut.leadership_end() == time_point{395ms + 340ms});
  at(401ms, decider_answered{});
  CHECK(fire() == "beat 2 with 2.1 to n1; beat 2 to n3; ask_decider");
  CHECK(hear(500ms, n3, beat_heard{2, time_point{460ms}, {2, 1}})
        == "set_leadership_end 800");
  CHECK(uut.confirmed() == time_point{460ms});
  // Stamps of a time to come, and answers to an earlier term, prove nothing.
  CHECK(hear(501ms, n3, beat_heard{2, time_point{900ms}, {2, 1}}) == "");
  CHECK(hear(501ms, n3, beat_heard{1, time_point{500ms}, {2, 1}}) == "");
}

TEST_CASE_METHOD(
  fixture,
  "succession, rule 3: a leader without its lease follows, whatever "
  "wakes it",
  "[core]") {
  lead();
  CHECK(hear(734ms, n3, ask{3}) == "would_not 2 to n3");
  CHECK(hear(735ms, n3, ask{3})
        == "set_leadership_end now; close_coordinator: no majority of the "
           "voters has answered in time; would_not 2 to n3");
  CHECK(uut.current_phase() == phase::follower);
}

TEST_CASE_METHOD(fixture, "succession: a leader of a higher term is followed",
                 "[core]") {
  lead();
  CHECK(hear(410ms, n3, beat{3, {}})
        == "set_leadership_end now; close_coordinator: another agent leads; "
           "keep_tombstone 3 with 2.1; beat_heard 3 has 2.1 to n3");
}

// -- rule 4: a beat proves the decider --------------------------------------------

TEST_CASE_METHOD(
  fixture,
  "succession, rule 4: without a sign of the coordinator there is no "
  "beat",
  "[core]") {
  lead();
  CHECK(fire() == "");
  at(460ms, decider_answered{});
  CHECK(fire() == "beat 2 with 2.1 to n1; beat 2 to n3; ask_decider");
  CHECK(fire() == "");
}

// -- rule 5: a leader that meets a higher term ------------------------------------

TEST_CASE_METHOD(fixture,
                 "succession, rule 5: a leader that meets a higher term wins a "
                 "still higher one and goes on",
                 "[core]") {
  lead();
  CHECK(hear(420ms, n1, would_not{2}) == "");
  CHECK(hear(420ms, n1, would_not{5})
        == "keep_tombstone 6 with 2.1; vote_request 6 to n1; "
           "vote_request 6 to n3");
  CHECK(uut.current_phase() == phase::candidate);
  CHECK(uut.leadership_end() != time_point{});
  CHECK(hear(421ms, n3, beat_heard{2, time_point{420ms}, {2, 1}}) == "");
  SECTION("it wins") {
    CHECK(hear(425ms, n3, vote{6, time_point{420ms}, 0ms, three({2, 1})})
          == "keep_tombstone 6 with 6.1; set_leadership_end 760; "
             "beat 6 with 6.1 to n1; beat 6 with 6.1 to n3");
    // Its coordinator is the same one.
    CHECK(hear(430ms, n3, beat_heard{6, time_point{420ms}, {6, 1}}) == "");
    CHECK(uut.current_phase() == phase::leading);
  }
  SECTION("no vote comes in time") {
    CHECK(fire()
          == "keep_tombstone 7 with 2.1; vote_request 7 to n1; "
             "vote_request 7 to n3");
  }
}

// -- rule 7: written before visible -----------------------------------------------

TEST_CASE_METHOD(
  fixture, "succession, rule 7: a change is reported when a majority has it",
  "[core]") {
  lead();
  auto job = charter{.revision = 2, .leader_group = 3};
  CHECK(at(410ms, charter_proposed{1, job})
        == "keep_tombstone 2 with 2.2; beat 2 with 2.2 to n1; "
           "beat 2 with 2.2 to n3");
  CHECK(at(411ms, charter_proposed{2, job}) == ""); // One at a time.
  CHECK(hear(412ms, n3, beat_heard{2, time_point{395ms}, {2, 1}}) == "");
  CHECK(hear(413ms, n3, beat_heard{2, time_point{395ms}, {2, 2}})
        == "report_charter_written 1; keep_tombstone 2 with 2.3; "
           "beat 2 with 2.3 to n1; beat 2 with 2.3 to n3");
  CHECK(hear(414ms, n1, beat_heard{2, time_point{395ms}, {2, 3}})
        == "report_charter_written 2");
  CHECK(uut.own_tombstone().charter->job.revision == 2);
  CHECK(uut.own_tombstone().charter->job.leader_group == 3);
}

TEST_CASE_METHOD(fixture,
                 "succession: only an open coordinator changes the charter",
                 "[core]") {
  follow();
  CHECK(at(1ms, charter_proposed{1, {}}) == "");
  CHECK(at(1ms, members_changed{{here(n2)}}) == "");
  CHECK(at(1ms, hand_over_requested{}) == "");
}

// -- rule 8: voters change in two writes ------------------------------------------

TEST_CASE_METHOD(fixture, "succession, rule 8: voters change in two writes",
                 "[core]") {
  lead();
  CHECK(at(410ms, members_changed{{here(n3), here(n4)}}) == "");
  CHECK(at(410ms, members_changed{{here(n2), here(n3), here(n4)}})
        == "keep_tombstone 2 with 2.2; beat 2 with 2.2 to n3; "
           "beat 2 with 2.2 to n4; beat 2 with 2.2 to n1");
  CHECK(uut.own_tombstone().charter->voters.is_changing());
  CHECK(hear(412ms, n4, beat_heard{2, time_point{395ms}, {2, 2}}) == "");
  // The voter that is none any more learns it, once.
  CHECK(hear(412ms, n3, beat_heard{2, time_point{395ms}, {2, 2}})
        == "keep_tombstone 2 with 2.3; beat 2 with 2.3 to n3; "
           "beat 2 with 2.3 to n4");
  CHECK(hear(413ms, n4, beat_heard{2, time_point{395ms}, {2, 3}})
        == "beat 2 with 2.3 to n1");
  CHECK(uut.own_tombstone().charter->voters == voter_set{{n2, n3, n4}});
  CHECK(at(414ms, members_changed{{here(n4), here(n3), here(n2)}}) == "");
}

// -- rule 11: hold-back -----------------------------------------------------------

TEST_CASE_METHOD(
  fixture,
  "succession, rule 11: a leader holds back for a lease from the "
  "last support of another leader",
  "[core]") {
  lead();
  // When they voted, both had heard no leader for 395 ms.
  CHECK(to_string(*find<open_coordinator>())
        == "open_coordinator as successor, silence 360");
}

TEST_CASE_METHOD(
  fixture,
  "succession, rule 11: votes for one candidate are no support of "
  "another, but for all others",
  "[core]") {
  follow();
  hear(400ms, n3, vote_request{2, {}});
  CHECK(given().silence == 400ms);
  hear(500ms, n3, vote_request{3, {}});
  CHECK(given().silence == 500ms);
  hear(900ms, n1, vote_request{4, {}});
  CHECK(given().silence == 400ms);
}

TEST_CASE_METHOD(
  fixture, "succession, rule 11: the last leader's workers are accounted for",
  "[core]") {
  auto known = three();
  known.job.leader_group = 3;
  follow(known);
  at(11ms, process_examined{n1, tombstone{1, n1, known}});
  CHECK(fire().ends_with("ask_decider; account_for n1, 1 of 3"));
}

// -- hand-over --------------------------------------------------------------------

TEST_CASE_METHOD(fixture,
                 "succession: a leader hands over to one that can follow",
                 "[core]") {
  lead();
  at(410ms, members_changed{{here(n1), here(n2), here(n3)}});
  CHECK(uut.own_tombstone().charter->key == charter_key{2, 1});
  SECTION("the next in the order gets the charter first") {
    CHECK(at(411ms, hand_over_requested{.leaves = true}) == "");
    const auto pause = armed;
    CHECK(pause.due == time_point{411ms} + leave_pause);
    CHECK(at(491ms, timer_fired{pause.timer}) == "");
    CHECK(hear(492ms, n1, beat_heard{2, time_point{395ms}, {2, 1}})
          == "set_leadership_end now; resigned 2 for n1 to n1; "
             "resigned 2 for n1 to n3; move_agents to n1; "
             "close_coordinator: another agent takes over");
    // It votes for it, and does not stand any more.
    CHECK(hear(493ms, n1, vote_request{3, {}, {{n2, 2}}})
          == "keep_tombstone 3 with 2.1; vote 3 with 2.1 to n1");
    CHECK(at(2s, timer_fired{armed.timer}) == "");
  }
  SECTION("not if it leads no more by then") {
    CHECK(at(411ms, hand_over_requested{.leaves = true}) == "");
    CHECK(at(2s, timer_fired{armed.timer})
          == "set_leadership_end now; close_coordinator: no majority of the "
             "voters has answered in time");
  }
  SECTION("to none that leaves as well") {
    CHECK(at(411ms, hand_over_requested{.leaves = true}) == "");
    const auto pause = armed;
    hear(412ms, n1, beat_heard{2, time_point{395ms}, {2, 1}});
    CHECK(uut.current_phase() == phase::leading);
    at(420ms, members_changed{{here(n2)}});
    CHECK(
      at(491ms, timer_fired{pause.timer}).starts_with("report_no_successor"));
    CHECK(uut.current_phase() == phase::leading);
  }
  SECTION("to the one that was named") {
    CHECK(at(411ms, hand_over_requested{.to = n3, .reason = "bob"})
            .find("resigned 2 for n3")
          != std::string::npos);
    const auto* said = find<send_message>();
    REQUIRE(said != nullptr);
    CHECK(std::get<resigned>(said->what).reason == "bob");
    CHECK_FALSE(std::get<resigned>(said->what).is_asked);
    CHECK(uut.current_phase() == phase::follower);
  }
}

TEST_CASE_METHOD(fixture,
                 "succession: without another one there is no hand-over",
                 "[core]") {
  at(0ms, job_founded{{.revision = 1}});
  at(1ms, members_changed{{here(n2)}});
  CHECK(at(2ms, hand_over_requested{}) == "report_no_successor");
  CHECK(uut.current_phase() == phase::leading);
}

TEST_CASE_METHOD(
  fixture,
  "succession: of two hosts, the one that follows becomes the voter "
  "first",
  "[core]") {
  at(0ms, job_founded{{.revision = 1}});
  at(1ms, members_changed{{here(n2), here(n3)}});
  CHECK(at(2ms, hand_over_requested{})
        == "keep_tombstone 1 with 1.3; beat 1 with 1.3 to n3");
  CHECK(hear(3ms, n3, beat_heard{1, time_point{0ms}, {1, 3}})
        == "keep_tombstone 1 with 1.4; beat 1 with 1.4 to n3");
  CHECK(hear(4ms, n3, beat_heard{1, time_point{0ms}, {1, 4}})
          .starts_with("set_leadership_end now; resigned 1 for n3 to n3"));
}

TEST_CASE_METHOD(fixture, "succession: the deputy that is named stands at once",
                 "[core]") {
  follow();
  SECTION("as a follower") {
    hear(100ms, n1, resigned{1, n2});
  }
  SECTION("while it asks") {
    fire();
    hear(400ms, n1, resigned{1, n2});
  }
  CHECK(fire() == "ask 2 to n1; ask 2 to n3");
  hear(405ms, n1, would{2});
  CHECK(uut.current_phase() == phase::candidate);
}

// -- why there is another leader ----------------------------------------------------

namespace {

struct changes : fixture {
  /// Wins with the vote of n3.
  leader_change win(uint64_t term) {
    const auto now = millis{500};
    hear(now, n3, would{term});
    hear(now, n3, vote{term, time_point{now}, 395ms, three()});
    hear(now, n3, beat_heard{term, time_point{now}, {term, 1}});
    const auto* order = find<open_coordinator>();
    REQUIRE(order != nullptr);
    return order->change;
  }
};

} // namespace

TEST_CASE_METHOD(changes, "succession: a new leader knows why it leads",
                 "[core]") {
  using kind = leader_change::kind;
  SECTION("the job has begun with it") {
    at(0ms, job_founded{{.revision = 1}});
    REQUIRE(find<open_coordinator>() != nullptr);
    CHECK(find<open_coordinator>()->change == leader_change{});
  }
  SECTION("the last one was silent") {
    follow();
    fire();
    CHECK(win(2) == leader_change{kind::silent, n1, 500ms});
  }
  SECTION("the last one has ended") {
    follow();
    at(10ms, process_examined{n1, tombstone{1, n1, three()}});
    fire(); // The dead one votes for it.
    REQUIRE(find<open_coordinator>() != nullptr);
    CHECK(find<open_coordinator>()->change == leader_change{kind::ended, n1});
  }
  SECTION("the last one has handed over") {
    follow();
    hear(100ms, n1, resigned{1, n2, "its node leaves"});
    fire();
    CHECK(win(2)
          == leader_change{kind::handed_over, n1, {}, "its node leaves"});
  }
  SECTION("an operator has asked") {
    follow();
    hear(100ms, n1, resigned{1, n2, "bob", true});
    fire();
    CHECK(win(2) == leader_change{kind::asked, n1, {}, "bob"});
  }
  SECTION(
    "the last one handed over, and led again before that came to an end") {
    follow();
    hear(100ms, n1, resigned{1, n2, "its node leaves"});
    hear(110ms, n1, beat{1, time_point{110ms}});
    at(120ms, timer_fired{armed.timer}); // Too early by now.
    fire();
    CHECK(win(2) == leader_change{kind::silent, n1, 390ms});
  }
}

TEST_CASE("succession: promises are longer in large jobs", "[core]") {
  CHECK(promise_of(24) == 360ms);
  CHECK(promise_of(10'000) == 2s);
  CHECK(promise_of(24, 300ms, 900ms) == 360ms);
  CHECK(promise_of(24, 60ms, 180ms) == 360ms);
  CHECK(promise_of(10'000, 2500ms, 8s) == 2s);
  // Two fifths of a longer fence, as far as that leaves time to find the next one.
  CHECK(promise_of(24, 300ms, 1800ms) == 720ms);
  CHECK(promise_of(1'000, 1s, 2s) == 400ms);
}

TEST_CASE("succession: phases have names", "[core]") {
  CHECK(to_string(phase::follower) == "follower");
  CHECK(to_string(phase::writing) == "writing");
  CHECK(to_string(phase{99}) == "unknown");
}

TEST_CASE_METHOD(fixture,
                 "succession: timers that nothing waits for are ignored",
                 "[core]") {
  lead();
  CHECK(at(401ms, timer_fired{{1}}) == "");
  CHECK(at(401ms, timer_fired{{99}}) == "");
}

TEST_CASE("succession: orders that transcripts leave out have texts, too",
          "[core]") {
  CHECK(to_string(succession_effect{examine{n1}}) == "examine n1");
  CHECK(to_string(succession_effect{arm_timer{{7}, {}}}) == "arm_timer 7");
}

} // namespace actorrun::test::succession_lead_test
