// Tests nodes that can take no part for a while, because a check of theirs runs or has
// failed.
#include "tests/support/rendezvous_fixture.hpp"

namespace actorrun::test::rendezvous_checks_test {

namespace {

constexpr auto sick = "its check `gpu` has failed (exit code 9): no devices";

fitness_reported unfit(const std::string& agent,
                       const std::string& why = sick) {
  return {{agent}, why};
}

fitness_reported fit(const std::string& agent) {
  return {{agent}, ""};
}

struct fixture : rendezvous_fixture {
  using rendezvous_fixture::rendezvous_fixture;

  agent_joined join_unfit(const std::string& agent) const {
    auto x = join(agent);
    x.offering.unfit = being_checked;
    return x;
  }

  /// All want to be checked.
  void run_checked(bool after_end = false) {
    for (const auto* agent : {"a", "b", "c"}) {
      auto x = join(agent);
      x.offering.is_checked_after_failure = !after_end;
      x.offering.is_checked_after_end = after_end;
      at(0s, x);
    }
    for (const auto* agent : {"a", "b", "c"})
      at(0s, started(agent, 1));
    REQUIRE(uut.current_phase() == phase::running);
  }

  /// All have stopped; what follows the last of them.
  std::string all_stopped() {
    at(1s, stopped("a", 1));
    at(1s, stopped("b", 1));
    return at(1s, stopped("c", 1));
  }
};

} // namespace

TEST_CASE_METHOD(fixture,
                 "rendezvous: a node that is being checked is not counted on",
                 "[core]") {
  at(0s, join("a"));
  CHECK(at(0s, join_unfit("b")).starts_with("accept_agent b"));
  CHECK(uut.current_phase() == phase::gathering);
  CHECK(uut.waiting_for()
        == "waiting for 1 more node: 1 of 2:3 nodes are here, and 1 more that "
           "can take no part");
  CHECK(uut.waiting_for({"b"}) == "stands by: it is being checked");
  SECTION("until it is fit") {
    at(1s, fit("b"));
    CHECK(uut.current_phase() == phase::last_call);
    CHECK(at(1s, fit("b")) == ""); // No news.
    CHECK(at(1s, fit("unknown")) == "");
  }
  SECTION("and is not waited for") {
    at(1s, join("c"));
    CHECK(at(4s, fire(4)) == "announce_generation 1: a=0+1 c=1+1");
    CHECK(at(5s, unfit("b")) == "");
    CHECK(uut.waiting_for({"b"}) == "stands by: " + std::string{sick});
  }
}

TEST_CASE_METHOD(
  fixture,
  "rendezvous: a node that becomes fit is let in as one that has "
  "come",
  "[core]") {
  at(0s, join("a"));
  at(0s, join("b"));
  at(0s, join_unfit("c"));
  REQUIRE(at(3s, fire(4)) == "announce_generation 1: a=0+1 b=1+1");
  at(3s, started("a", 1));
  at(3s, started("b", 1));
  CHECK(at(9s, fit("c")) == "revoke_generation 1: a b");
  CHECK(last<revoke_generation>().reason.text
        == "node node-c may take part again");
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: the node whose worker was the root cause is "
                 "checked, and the others go on without it",
                 "[core]") {
  run_checked();
  REQUIRE(at(1s, failed("b", 1)).ends_with("revoke_generation 1: a b c"));
  CHECK(all_stopped() == "order_checks b; announce_generation 2: a=0+1 c=1+1");
  CHECK(uut.agents().at({"b"}).offering.unfit == being_checked);
  SECTION("it is fit") {
    at(2s, started("a", 2));
    at(2s, started("c", 2));
    CHECK(at(3s, fit("b")) == "revoke_generation 2: a c");
  }
  SECTION("it comes back, and says what it knows") {
    at(2s, disconnect("b"));
    at(2s, join_unfit("b"));
    CHECK(uut.agents().at({"b"}).offering.unfit == being_checked);
  }
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: where the others are too few, they wait for the "
                 "check",
                 "[core]") {
  replace({3, 3, 2}, {.exclude_after = 0});
  settings = {3, 3, 2};
  run_checked();
  at(1s, failed("b", 1));
  CHECK(all_stopped().starts_with("order_checks b; arm_timer"));
  CHECK(uut.current_phase() == phase::gathering);
  CHECK(at(2s, fit("b")).ends_with("announce_generation 2: a=0+1 b=1+1 c=2+1"));
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: nodes that want it are checked after each end",
                 "[core]") {
  run_checked(true);
  at(1s, leaving("b", 15));
  at(1s, stopped("a", 1));
  at(1s, left("b"));
  CHECK(at(1s, stopped("c", 1)).starts_with("order_checks a c"));
  at(2s, fit("a"));
  at(2s, fit("c"));
  CHECK(uut.current_phase() == phase::last_call);
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: a node whose check fails beside its workers is "
                 "replaced or left out",
                 "[core]") {
  SECTION("if enough others are here") {
    run();
    CHECK(at(5s, unfit("b")) == "revoke_generation 1: a b c");
    CHECK(last<revoke_generation>().reason.text
          == "node node-b takes no part: " + std::string{sick});
    CHECK(all_stopped() == "announce_generation 2: a=0+1 c=1+1");
    CHECK(uut.budget().restart_count() == 0);
  }
  SECTION("if not, it goes on") {
    run_two();
    CHECK(at(5s, unfit("b")) == "");
    CHECK(uut.current_phase() == phase::running);
    SECTION("until another one is here") {
      CHECK(at(6s, join("c")).ends_with("revoke_generation 1: a b"));
    }
  }
}

} // namespace actorrun::test::rendezvous_checks_test
