// Tests how an agent leads by the word of an operator who gives up voters that are lost.
#include "tests/support/succession_fixture.hpp"

namespace actorrun::test::succession_order_test {

namespace {

using verdict = report_election::verdict;

/// n1 leads, n4 is the deputy; the promises have lapsed, and nothing has come since.
struct fixture : succession_fixture {
  /// @param lost As an operator names it.
  std::string order(millis t, std::vector<std::string> lost) {
    return at(t, election_ordered{std::move(lost), "bob"});
  }

  void know() { follow(charter_of({n1, n2, n3}, {n1, n2, n3, n4})); }

  /// The answer, after as many rounds as there may be.
  report_election answer() {
    for (auto i = 0; i < 100; ++i) {
      fire();
      if (const auto* out = find<report_election>())
        return *out;
    }
    FAIL("there is no answer");
    return {};
  }

  static constexpr auto term = 1 + ordered_term_step;
};

const auto t = std::to_string(fixture::term);

} // namespace

TEST_CASE_METHOD(
  fixture,
  "succession, by order: the last voter leads alone, with numbers that are far "
  "higher, after a whole lease",
  "[core]") {
  auto known = three();
  known.endpoints = {{n1, "10.0.0.1:41000"}, {n3, "10.0.0.3:41000"}};
  known.job.newest = generation_of(70, 3);
  follow(known);
  // The lost are asked, too.
  CHECK(order(500ms, {"10.0.0.1", "n3"})
        == "ask " + t + " to n1; ask " + t + " to n3");
  CHECK(armed.due == time_point{590ms});
  CHECK(fire()
        == "keep_tombstone " + t + " with 1.1; keep_tombstone " + t + " with "
             + t + ".1; set_leadership_end 930; open_coordinator as "
             + "successor, silence 0; report_election: leads; ask_decider");
  const auto* opened = find<open_coordinator>();
  REQUIRE(opened != nullptr);
  CHECK(opened->terms_before == fixture::term - 1);
  CHECK(opened->change
        == leader_change{leader_change::kind::ordered, n1, {}, "bob"});
  CHECK(term_of(opened->known.newest) == 70 + ordered_term_step);
  CHECK(number_of(opened->known.newest) == 3);
  const auto own = uut.own_tombstone().charter;
  CHECK(own->voters == voter_set{{n2}});
  CHECK(own->order == std::vector{n2});
  CHECK(own->endpoints.empty());
  CHECK(own->job.newest == opened->known.newest);
  CHECK(order(600ms, {"n1", "n3"}) == "report_election: leader known n2");
}

TEST_CASE_METHOD(fixture,
                 "succession, by order: who is left has to vote, and the "
                 "newest charter of all counts",
                 "[core]") {
  know();
  order(500ms, {"n1"});
  CHECK(find<send_message>() != nullptr);
  hear(505ms, n3, would{fixture::term});
  hear(505ms, n4, would{fixture::term});
  // All of them have the time of one round.
  CHECK(fire()
        == "keep_tombstone " + t + " with 1.1; vote_request " + t
             + " to n3; vote_request " + t + " to n4");
  const auto newer = charter_of({n1, n3, n5}, {n1, n3, n5}, {1, 7});
  CHECK(hear(595ms, n3, vote{fixture::term, time_point{590ms}, 0ms, newer})
        == "keep_tombstone " + t + " with 1.7; vote_request " + t + " to n5");
  CHECK(hear(596ms, n4, vote{fixture::term, time_point{590ms}}) == "");
  CHECK(hear(597ms, n5, vote{fixture::term, time_point{595ms}}) != "");
  CHECK(find<report_election>()->what == verdict::leads);
  const auto own = uut.own_tombstone().charter;
  CHECK(own->voters == voter_set{{n2}});
  CHECK(own->order == std::vector{n2, n3, n5});
}

TEST_CASE_METHOD(fixture,
                 "succession, by order: whose end is proved need not be named",
                 "[core]") {
  know();
  at(400ms, process_examined{n3, tombstone{1, n1, three({1, 9})}});
  order(500ms, {"n1", "n4"});
  CHECK(answer().what == verdict::leads);
  CHECK(uut.own_tombstone().charter->order == std::vector{n2});
}

TEST_CASE_METHOD(fixture, "succession, by order: refused with a reason",
                 "[core]") {
  SECTION("it knows of no job") {
    CHECK(order(0ms, {"n1"}) == "report_election: has no charter");
  }
  SECTION("it leads") {
    lead();
    CHECK(order(401ms, {"n1"}) == "report_election: leader known n2");
    CHECK(uut.current_phase() == phase::leading);
  }
  SECTION("it hears a leader") {
    know();
    CHECK(order(300ms, {"n1"}) == "report_election: leader known n1");
  }
  SECTION("it hears one while it asks") {
    know();
    order(500ms, {"n1"});
    hear(510ms, n3, beat{2, time_point{500ms}});
    CHECK(answer() == report_election{verdict::leader_known, {n3}});
    CHECK(uut.current_phase() == phase::follower);
  }
  SECTION("one that is not named is silent") {
    know();
    order(500ms, {"n1", "n4"});
    CHECK(answer() == report_election{verdict::others_silent, {n3}});
    CHECK(armed.due >= time_point{2'500ms});
    CHECK(uut.current_phase() == phase::follower);
    CHECK(uut.own_tombstone().term == 1);
  }
  SECTION("one that is not named has promised to follow another") {
    know();
    order(500ms, {"n1", "n4"});
    auto last = std::optional<report_election>{};
    for (auto i = 0; i < 100 && !last; ++i) {
      hear(std::chrono::floor<millis>(armed.due.time_since_epoch()) - 1ms, n3,
           would_not{1});
      fire();
      if (const auto* x = find<report_election>())
        last = *x;
    }
    CHECK(last == report_election{verdict::leader_known, {n3}});
  }
  SECTION("one that is called lost answers") {
    know();
    order(500ms, {"n1", "n3", "n4"});
    hear(505ms, n3, would{fixture::term});
    CHECK(fire() == "report_election: lost answers n3");
  }
  SECTION("another such election is under way") {
    know();
    order(500ms, {"n1"});
    CHECK(order(501ms, {"n1"}) == "report_election: is under way");
    CHECK(uut.current_phase() == phase::asking);
  }
  SECTION("there are no higher terms") {
    know();
    hear(450ms, n3, would_not{ordered_term_max});
    order(500ms, {"n1", "n3", "n4"});
    CHECK(answer().what == verdict::terms_spent);
  }
}

TEST_CASE_METHOD(fixture,
                 "succession, by order: a vote that does not come is waited "
                 "for, and then the operator is told",
                 "[core]") {
  know();
  order(500ms, {"n1", "n4"});
  hear(505ms, n3, would{fixture::term});
  fire();
  CHECK(uut.current_phase() == phase::candidate);
  CHECK(answer() == report_election{verdict::others_silent, {n3}});
}

TEST_CASE_METHOD(fixture,
                 "succession, by order: votes that come too late elect no one "
                 "at once",
                 "[core]") {
  know();
  order(500ms, {"n1", "n4"});
  hear(505ms, n3, would{fixture::term});
  fire();
  const auto next_round = armed.timer;
  // It was stopped meanwhile.
  CHECK(hear(990ms, n3, vote{fixture::term, time_point{590ms}}) != "");
  CHECK(uut.current_phase() == phase::follower);
  const auto higher = std::to_string(fixture::term + ordered_term_step);
  CHECK(at(991ms, timer_fired{next_round}) == "ask " + higher + " to n3");
}

TEST_CASE_METHOD(
  fixture,
  "succession, by order: who has asked already does not ask again "
  "when its turn comes",
  "[core]") {
  know();
  const auto its_turn = armed;
  CHECK(order(361ms, {"n1"})
        == "ask " + t + " to n1; ask " + t + " to n3; ask " + t + " to n4");
  CHECK(uut.current_phase() == phase::asking);
  CHECK(at(500ms, timer_fired{its_turn.timer}) == "");
}

TEST_CASE("succession, by order: orders and answers have texts", "[core]") {
  CHECK(to_string(succession_effect{report_election{verdict::leads}})
        == "report_election: leads");
  CHECK(to_string(succession_effect{report_election{verdict::terms_spent}})
        == "report_election: terms spent");
  CHECK(to_string(
          succession_effect{report_election{verdict::others_silent, {n1, n3}}})
        == "report_election: others silent n1 n3");
}

} // namespace actorrun::test::succession_order_test
