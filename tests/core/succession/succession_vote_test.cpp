// Tests what an agent promises, when it stands as a candidate, and how it wins. Rules
// have the numbers of decision 0061.
#include "tests/support/succession_fixture.hpp"

namespace actorrun::test::succession_vote_test {

namespace {

using fixture = succession_fixture;
using phase = succession::phase;

tombstone left(uint64_t term, agent_id promised_to,
               std::optional<written_charter> x = fixture::three()) {
  return {term, std::move(promised_to), std::move(x)};
}

} // namespace

// -- rule 1: one vote per term ----------------------------------------------------

TEST_CASE_METHOD(fixture, "succession, rule 1: a voter votes once per term",
                 "[core]") {
  follow();
  CHECK(hear(400ms, n3, vote_request{2, {}})
        == "keep_tombstone 2 with 1.1; vote 2 with 1.1 to n3");
  CHECK(hear(800ms, n1, vote_request{2, {}}) == "would_not 2 to n1");
  CHECK(hear(800ms, n1, vote_request{3, {}})
        == "keep_tombstone 3 with 1.1; vote 3 with 1.1 to n1");
}

TEST_CASE_METHOD(
  fixture,
  "succession, rule 1: after a vote, a lower term gets no answer "
  "and is not stored",
  "[core]") {
  follow();
  hear(400ms, n3, vote_request{2, {}});
  CHECK(hear(401ms, n1, beat{1, {}, three({1, 2})}) == "would_not 2 to n1");
  CHECK(uut.own_tombstone().charter->key == charter_key{1, 1});
}

TEST_CASE_METHOD(
  fixture, "succession, rule 1: of two leaders of a term the first counts",
  "[core]") {
  follow();
  CHECK(hear(1ms, n3, beat{1, {}}) == "");
  CHECK(uut.leader() == n1);
}

TEST_CASE_METHOD(fixture, "succession: a newborn stores what it hears",
                 "[core]") {
  CHECK(hear(0ms, n1, beat{1, {}})
        == "keep_tombstone 1 with nothing; beat_heard 1 has 0.0 to n1");
  CHECK(hear(500ms, n3, vote_request{2, {}})
        == "keep_tombstone 2 with nothing; vote 2 with nothing to n3");
  CHECK(at(501ms, link_broken{n1}) == "");
  CHECK(armed.timer.value == 0); // It has no right to stand.
}

// -- rule 2: a promise binds ------------------------------------------------------

TEST_CASE_METHOD(fixture, "succession, rule 2: a promise binds for its time",
                 "[core]") {
  follow();
  CHECK(hear(359ms, n3, vote_request{2, {}}) == "would_not 1 to n3");
  CHECK(hear(359ms, n1, ask{2}) == "would 2 to n1"); // Not against its holder.
  CHECK(hear(360ms, n3, ask{2}) == "would 2 to n3");
}

TEST_CASE_METHOD(fixture, "succession, rule 2: a vote binds as a beat does",
                 "[core]") {
  follow();
  hear(400ms, n3, vote_request{2, {}});
  CHECK(hear(759ms, n1, ask{3}) == "would_not 2 to n1");
  CHECK(hear(760ms, n1, ask{3}) == "would 3 to n1");
}

TEST_CASE_METHOD(fixture, "succession, rule 2: a proof ends a promise",
                 "[core]") {
  follow();
  SECTION("the candidate's") {
    CHECK(hear(1ms, n3, ask{2, {{n1}}}) == "would 2 to n3");
    CHECK(hear(1ms, n3, ask{2, {{n1, 1}}}) == "would 2 to n3");
  }
  SECTION("its own") {
    at(1ms, process_examined{n1, left(1, n1)});
    CHECK(hear(2ms, n3, ask{2}) == "would 2 to n3");
  }
  SECTION("a resignation that it has heard") {
    hear(1ms, n1, resigned{1, n3});
    CHECK(hear(2ms, n3, ask{2}) == "would 2 to n3");
  }
}

TEST_CASE_METHOD(fixture,
                 "succession, rule 2: other proofs do not end a promise",
                 "[core]") {
  hear(0ms, n1, beat{4, {}, three({4, 1})});
  at(1ms, process_examined{n1}); // It may live.
  hear(1ms, n1, resigned{3, n3});
  CHECK(hear(2ms, n3, ask{5, {{n1, 3}}}) == "would_not 4 to n3");
  CHECK(hear(2ms, n3, ask{5, {{n5}}}) == "would_not 4 to n3");
}

// -- rule 5: no needless disturbance ----------------------------------------------

TEST_CASE_METHOD(
  fixture,
  "succession, rule 5: an agent stands after those before it, and "
  "asks first",
  "[core]") {
  follow();
  CHECK(armed.due == time_point{390ms}); // The second in the order.
  CHECK(fire() == "ask 2 to n1; ask 2 to n3");
  CHECK(uut.current_phase() == phase::asking);
  CHECK(uut.own_tombstone().term == 1); // It has changed nothing yet.
  CHECK(hear(391ms, n1, would_not{1}) == "");
  CHECK(hear(392ms, n3, would{3}) == ""); // Not to this question.
  CHECK(hear(392ms, n3, would{2})
        == "keep_tombstone 2 with 1.1; vote_request 2 to n1; "
           "vote_request 2 to n3");
  CHECK(uut.current_phase() == phase::candidate);
}

TEST_CASE_METHOD(fixture, "succession, rule 5: a beat defers the candidacy",
                 "[core]") {
  follow();
  hear(60ms, n1, beat{1, {}});
  CHECK(fire() == "");
  CHECK(armed.due == time_point{450ms});
  CHECK(fire() != "");
}

TEST_CASE_METHOD(fixture, "succession, rule 5: whoever has led stands last",
                 "[core]") {
  lead();
  CHECK(at(1s, decider_answered{})
        == "set_leadership_end now; close_coordinator: no majority of the "
           "voters has answered in time");
  CHECK(armed.due == time_point{395ms + 360ms + 90ms});
}

TEST_CASE_METHOD(
  fixture,
  "succession: without answers it asks again, above all terms that "
  "it has heard of",
  "[core]") {
  follow();
  fire();
  hear(391ms, n3, would_not{7});
  CHECK(armed.due == time_point{480ms});
  CHECK(fire() == "ask 8 to n1; ask 8 to n3");
  hear(485ms, n3, would{8});
  CHECK(fire() == "ask 9 to n1; ask 9 to n3"); // No vote has come.
  CHECK(hear(600ms, n1, beat{8, {}})
        == "keep_tombstone 8 with 1.1; beat_heard 8 has 1.1 to n1");
  CHECK(uut.current_phase() == phase::follower);
  CHECK(hear(601ms, n3, vote{8, {}}) == "");
}

TEST_CASE_METHOD(
  fixture,
  "succession: an agent that is neither a voter nor in the order "
  "does not stand",
  "[core]") {
  follow();
  hear(10ms, n1, beat{1, {}, charter_of({n1, n3}, {n1, n3}, {1, 2})});
  CHECK(at(390ms, timer_fired{armed.timer}) == "");
  CHECK(uut.current_phase() == phase::follower);
}

TEST_CASE_METHOD(fixture,
                 "succession: what a tombstone says may end a candidacy",
                 "[core]") {
  follow();
  fire();
  const auto newer = charter_of({n1, n3}, {n1, n3}, {1, 2});
  at(400ms, process_examined{n1, left(1, n1, newer)});
  CHECK(fire() == "");
  CHECK(uut.current_phase() == phase::follower);
}

// -- rule 6: the newest charter counts ---------------------------------------------

TEST_CASE_METHOD(
  fixture,
  "succession, rule 6: the newest charter of the votes names the "
  "voters, and is written again",
  "[core]") {
  follow();
  fire();
  hear(392ms, n3, would{2});
  const auto newer = charter_of({n2, n3, n4}, {n1, n3, n2, n4}, {1, 5});
  CHECK(hear(395ms, n3, vote{2, time_point{392ms}, 392ms, newer})
        == "keep_tombstone 2 with 2.1; set_leadership_end 732; "
           "beat 2 with 2.1 to n3; beat 2 with 2.1 to n4; "
           "beat 2 with 2.1 to n1");
  CHECK(uut.current_phase() == phase::writing);
  const auto own = *uut.own_tombstone().charter;
  CHECK(own.voters == newer.voters);
  CHECK(own.order == std::vector<agent_id>{n2, n1, n3, n4});
  // Only then there is a coordinator.
  CHECK(hear(396ms, n1, beat_heard{2, time_point{392ms}, {2, 1}}) == "");
  CHECK(hear(397ms, n4, beat_heard{2, time_point{392ms}, {2, 1}})
        == "open_coordinator as successor, silence 362; ask_decider");
  CHECK(uut.current_phase() == phase::leading);
  CHECK(uut.written() == charter_key{2, 1});
}

TEST_CASE_METHOD(
  fixture,
  "succession, rule 6: voters that only the newest charter names "
  "are asked for their votes",
  "[core]") {
  follow();
  fire();
  hear(392ms, n3, would{2});
  const auto newer = charter_of({n2, n4, n5}, {n1, n2, n4, n5}, {1, 5});
  CHECK(hear(395ms, n3, vote{2, time_point{392ms}, 392ms, newer})
        == "keep_tombstone 2 with 1.5; vote_request 2 to n4; "
           "vote_request 2 to n5");
  CHECK(hear(396ms, n4, vote{2, time_point{395ms}, 1s, std::nullopt}) != "");
  CHECK(uut.current_phase() == phase::writing);
}

TEST_CASE_METHOD(fixture,
                 "succession: a vote that comes too late elects no one",
                 "[core]") {
  follow();
  fire();
  hear(392ms, n3, would{2});
  CHECK(hear(740ms, n3, vote{2, time_point{900ms}, 1s}) == "");
  CHECK(hear(740ms, n3, vote{2, time_point{392ms}, 1s})
        == "keep_tombstone 2 with 2.1");
  CHECK(uut.current_phase() == phase::follower);
  CHECK(uut.leadership_end() == time_point{});
}

// -- rule 9: votes of the dead ----------------------------------------------------

TEST_CASE_METHOD(fixture,
                 "succession, rule 9: the dead vote for the first in the order "
                 "that is not proved dead, at once",
                 "[core]") {
  follow();
  CHECK(at(10ms, link_broken{n1}) == "");
  CHECK(find<examine>()->who == n1);
  at(11ms, process_examined{n1, left(4, n1)});
  CHECK(armed.due == time_point{11ms});
  CHECK(fire()
        == "ask 2 to n3; keep_tombstone 5 with 1.1; vote_request 5 to n3; "
           "keep_tombstone 5 with 5.1; set_leadership_end 351; "
           "beat 5 with 5.1 to n3; "
           "open_coordinator as successor, silence 0; ask_decider");
}

TEST_CASE_METHOD(
  fixture,
  "succession, rule 9: they do not vote for one behind another that "
  "may live",
  "[core]") {
  follow(charter_of({n1, n2, n3}, {n1, n3, n2}));
  at(11ms, process_examined{n1, left(1, n1)});
  CHECK(armed.due == time_point{21ms});
  CHECK(fire() == "ask 2 to n3");
  CHECK(uut.current_phase() == phase::asking);
  // With it, none is left before this one.
  CHECK(at(25ms, process_examined{n3, left(1, n1)})
        == "keep_tombstone 2 with 1.1; keep_tombstone 2 with 2.1; "
           "set_leadership_end 365; "
           "open_coordinator as successor, silence 0; ask_decider");
}

TEST_CASE_METHOD(
  fixture,
  "succession, rule 9: what a dead voter has promised another binds "
  "until it lapses",
  "[core]") {
  follow();
  at(11ms, process_examined{n1, left(3, n3)});
  CHECK(fire() == "ask 2 to n3");
  CHECK(at(371ms, timer_fired{armed.timer}) != "");
  CHECK(uut.own_tombstone().term == 4);
  CHECK(uut.current_phase() == phase::leading);
}

TEST_CASE_METHOD(fixture,
                 "succession, rule 9: a proof can come during the election",
                 "[core]") {
  follow();
  fire();
  hear(392ms, n3, would{2});
  CHECK(at(393ms, process_examined{n1, left(1, n1)})
        == "keep_tombstone 2 with 2.1; set_leadership_end 732; "
           "beat 2 with 2.1 to n3; "
           "open_coordinator as successor, silence 0; ask_decider");
}

TEST_CASE_METHOD(
  fixture, "succession, rule 9: whom the dead have elected they elect again",
  "[core]") {
  // Of two hosts, the other was the only voter.
  hear(0ms, n1, beat{1, {}, charter_of({n1}, {n1, n2})});
  at(11ms, process_examined{n1, left(1, n1)});
  CHECK(fire() != "");
  CHECK(uut.current_phase() == phase::leading);
  CHECK(at(900ms, decider_answered{}) != ""); // It was stopped for a while.
  CHECK(uut.current_phase() == phase::follower);
  CHECK(at(1s, timer_fired{armed.timer}) != "");
  CHECK(uut.current_phase() == phase::leading);
}

// -- bounds -------------------------------------------------------------------------

TEST_CASE("voter: proofs of those that the newest charter does not name are "
          "forgotten when there are many",
          "[core]") {
  auto uut = voter{{"n2"}, promise_min};
  const auto now = time_point{} + 1s;
  const auto newest = fixture::three({7, 1});
  REQUIRE(uut.hear({"n1"}, beat{7, now, newest}, now));
  uut.learn({"n3"}, left(6, {"n1"}), now);
  uut.believe({"n3"}, 5);
  for (auto i = size_t{0}; i < 3 * proofs_max; ++i) {
    const auto who = agent_id{"gone-" + std::to_string(i)};
    if (i % 2 == 0)
      uut.learn(who, left(1, {"n1"}), now);
    else
      uut.believe(who, i);
    CHECK(uut.proofs().size() <= proofs_max);
  }
  CHECK(uut.is_proved_dead({"n3"}));
  CHECK(uut.proofs().back() == ended_leader{{"n3"}, 5});
  // The newest charter is not lost with the process that has left it.
  uut.learn({"away"}, left(8, {"n1"}, fixture::three({8, 1})), now);
  for (auto i = size_t{0}; i < 2 * proofs_max; ++i)
    uut.learn({"later-" + std::to_string(i)}, left(1, {"n1"}), now);
  CHECK(uut.newest_charter()->key == charter_key{8, 1});
}

} // namespace actorrun::test::succession_vote_test
