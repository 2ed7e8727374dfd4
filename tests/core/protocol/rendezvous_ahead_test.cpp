// Tests newcomers whose workers start ahead of the generation that lets them in.
#include "tests/support/rendezvous_fixture.hpp"

namespace actorrun::test::rendezvous_ahead_test {

namespace {

using kind = safe_point_report::kind;

/// One to four agents; `a` and `b` run generation 1 since 3 s, with safe points.
struct fixture : rendezvous_fixture {
  fixture() {
    run_two();
    at(3s, resize_requested{1, 3, "alice"});
    CHECK(at(4s, safe_point_reported{{"a"}, {1}, {kind::stepping}}) == "");
  }

  /// `c` fills the job, and is asked to start its workers.
  void ask() {
    REQUIRE(at(10s, join("c", 2))
            == "accept_agent c; start_ahead 1: c; arm_timer 5");
    REQUIRE(due(5) == 310s);
  }

  /// Its workers were started ahead, and these are parked.
  static workers_stopped ready(const std::string& agent,
                               std::vector<uint32_t> local_ranks = {0},
                               uint64_t generation = 1) {
    auto x = stopped(agent, generation);
    x.parked = {{}, std::move(local_ranks)};
    return x;
  }

  /// The round that has begun ends, and both stop.
  std::string regroup(uint64_t generation = 1) {
    for (const auto what : {kind::held, kind::reached})
      for (const auto* agent : {"a", "b"})
        at(20s, safe_point_reported{{agent}, {generation}, {what, 7, 1}});
    REQUIRE(uut.current_phase() == phase::stopping);
    at(20s, stopped("a", generation));
    return at(20s, stopped("b", generation));
  }
};

} // namespace

TEST_CASE_METHOD(fixture,
                 "rendezvous: T3 a generation goes on until the workers of a "
                 "newcomer are ready",
                 "[core]") {
  at(9s, resize_requested{1, 3, "alice"});
  ask();
  CHECK(last<start_ahead>().restart_count == 0);
  CHECK(uut.current_phase() == phase::running);
  CHECK(uut.waiting_for()
        == "1 more node is here: generation 1 runs with 2 nodes; the job starts"
           " again with all when the new workers are ready");
  CHECK(uut.waiting_for({"c"})
        == "generation 1 runs with 2 nodes; the job starts again with this one"
           " when the new workers are ready");
  CHECK(uut.waits_until() == time_point{310s});
  CHECK(at(11s, heard(11s, "c")) == "");
  CHECK(at(11s, stopped("c", 0)) == ""); // Of something else.
  CHECK(at(12s, ready("c", {0, 1})) == "arm_timer 6; hold of 1: a b");
  CHECK(at(310s, fire(5)) == "");
  CHECK(regroup() == "announce_generation 2: a=0+1 b=1+1 c=2+2");
  // It takes part in its first generation, so that it has nothing to hand on.
  CHECK(plan_of("c").survivors.empty());
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: T3 workers that were started ahead survive "
                 "nothing, and those of the last generation do",
                 "[core]") {
  ask();
  at(12s, ready("c", {0, 1}));
  for (const auto what : {kind::held, kind::reached})
    for (const auto* agent : {"a", "b"})
      at(20s, safe_point_reported{{agent}, {1}, {what, 7, 1}});
  auto b = stopped("b", 1);
  b.parked = {{1}, {0}};
  at(20s, stopped("a", 1));
  at(20s, b);
  CHECK(announced.survivors == rank_runs{{0, 0}});
  CHECK(announced.own.agent == agent_id{"b"}); // Rank 0 is a survivor.
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: T3 a newcomer that does not get ready is let in "
                 "as it is",
                 "[core]") {
  ask();
  SECTION("as its workers have ended") {
    CHECK(at(12s, stopped("c", 1)) == "arm_timer 6; hold of 1: a b");
  }
  SECTION("as one of them has") {
    CHECK(at(12s, ready("c", {1})) == "arm_timer 6; hold of 1: a b");
  }
  SECTION("after five minutes") {
    CHECK(at(310s, fire(5)) == "arm_timer 6; hold of 1: a b");
    CHECK(due(6) == 370s);
  }
  CHECK(regroup() == "announce_generation 2: a=0+1 b=1+1 c=2+2");
}

TEST_CASE_METHOD(fixture, "rendezvous: T3 all newcomers are waited for",
                 "[core]") {
  at(5s, resize_requested{1, 4, "alice"});
  at(10s, join("c"));
  CHECK(at(10s, join("d"))
        == "accept_agent d; start_ahead 1: c d; arm_timer 6");
  CHECK(at(11s, ready("d")) == "");
  SECTION("until the last is ready") {
    CHECK(at(12s, ready("c")) == "arm_timer 7; hold of 1: a b");
  }
  SECTION("but for those that have gone") {
    CHECK(at(12s, left("c")) == "forget_agent c; arm_timer 7; hold of 1: a b");
  }
  SECTION("and those that are out of touch") {
    CHECK(at(12s, disconnect("c"))
          == "probe_agent c; arm_timer 7; hold of 1: a b");
  }
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: T3 newcomers that have settled are asked, and "
                 "later ones at once",
                 "[core]") {
  at(5s, resize_requested{1, 5, "alice"});
  CHECK(at(10s, join("c")) == "accept_agent c; arm_timer 5");
  CHECK(at(11s, fire(5)) == "start_ahead 1: c; arm_timer 6");
  CHECK(at(12s, join("d")) == "accept_agent d; start_ahead 1: d");
  CHECK(at(13s, ready("c")) == "");
  CHECK(at(14s, ready("d")) == "arm_timer 7; hold of 1: a b");
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: T3 when their time is over, newcomers are not "
                 "waited for",
                 "[core]") {
  at(5s, resize_requested{1, 5, "alice"});
  at(10s, join("c"));
  at(11s, fire(5));
  CHECK(at(311s, fire(6)) == "arm_timer 7; hold of 1: a b");
}

TEST_CASE_METHOD(fixture, "rendezvous: T3 only whoever gets a place is asked",
                 "[core]") {
  ask();
  CHECK(at(11s, join("d")) == "accept_agent d");
  CHECK(at(11s, ready("c")) == "arm_timer 6; hold of 1: a b");
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: T3 an agent that comes back is asked again",
                 "[core]") {
  ask();
  at(11s, disconnect("c"));
  CHECK(uut.current_phase() == phase::running);
  CHECK(at(12s, join("c", 2)).find("start_ahead 1: c") != std::string::npos);
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: T3 whose workers are parked already is not asked",
                 "[core]") {
  auto back = join("c");
  back.held = claim{plan_of("a"), share_state::idle, {}};
  back.held->plan.own.agent = {"c"};
  back.held->parked = {{1}, {0}};
  CHECK(at(10s, back) == "accept_agent c; arm_timer 5; hold of 1: a b");
}

TEST_CASE_METHOD(fixture, "rendezvous: T3 what cannot wait ends the wait",
                 "[core]") {
  ask();
  SECTION("a failure") {
    CHECK(at(11s, failed("a", 1)) == "revoke_generation 1: a b");
    at(11s, stopped("a", 1));
    CHECK(at(11s, stopped("b", 1))
          == "announce_generation 2: a=0+1 b=1+1 c=2+2");
    // It had been ready, or not, when it heard of that.
    CHECK(at(12s, ready("c", {0, 1})) == "");
  }
  SECTION("a drain") {
    CHECK(
      at(11s, drain_requested{"b", 300s, false, "alice"}).find("hold of 1: a b")
      != std::string::npos);
  }
  SECTION("a smaller job") {
    at(11s, resize_requested{1, 2, "alice"});
    CHECK(uut.waits_until() == std::nullopt);
    CHECK(at(12s, ready("c", {0, 1})) == "");
  }
  CHECK(at(310s, fire(5)) == "");
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: T3 workers of newcomers that wait for each other "
                 "are not idle, those without a place are",
                 "[core]") {
  at(5s, resize_requested{1, 4, "alice"});
  at(10s, join("c"));
  at(10s, join("d"));
  const auto keep_all = [this](milliseconds t) {
    for (const auto* agent : {"a", "b", "c", "d"})
      at(t, heard(t, agent));
  };
  at(11s, ready("d"));
  keep_all(80s);
  // Whenever leases are looked at.
  const auto look = [this](milliseconds t) {
    auto text = std::string{};
    for (const auto& [timer, due] : std::map{armed})
      if (due <= time_point{t})
        text += at(t, fire(timer)) + ";";
    return text;
  };
  CHECK(look(80s).find("revoke_generation") == std::string::npos);
  at(80s, resize_requested{1, 2, "alice"});
  keep_all(199s);
  CHECK(look(200s).find("revoke_generation 1: d") != std::string::npos);
  CHECK(uut.agents().at({"d"}).parked.local_ranks.empty());
}

TEST_CASE("rendezvous: T3 without safe points nothing starts ahead", "[core]") {
  auto x = rendezvous_fixture{};
  x.run_two();
  CHECK(x.at(10s, x.join("c")) == "accept_agent c; revoke_generation 1: a b");
}

} // namespace actorrun::test::rendezvous_ahead_test
