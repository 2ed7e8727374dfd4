// Tests how a running job grows and shrinks.
#include "tests/support/rendezvous_fixture.hpp"

namespace actorrun::test::rendezvous_joiners_test {

namespace {

/// Two to five agents; `a` and `b` run generation 1 since 3 s.
struct fixture : rendezvous_fixture {
  fixture() : rendezvous_fixture{{2, 5, 1}} { run_two(); }

  void stop_all(milliseconds t, uint64_t generation) {
    for (const auto* agent : {"a", "b"})
      at(t, stopped(agent, generation));
  }
};

} // namespace

TEST_CASE_METHOD(fixture,
                 "rendezvous: a joiner becomes a member after a settle time",
                 "[core]") {
  CHECK(at(10s, join("c")) == "accept_agent c; arm_timer 5");
  CHECK(due(5) == 11s);
  CHECK(at(11s, fire(5)) == "revoke_generation 1: a b");
  CHECK(last<revoke_generation>().reason.text == "1 more joined");
  stop_all(11s, 1);
  CHECK(transcript(effects) == "announce_generation 2: a=0+1 b=1+1 c=2+1");
  CHECK(uut.budget().restart_count() == 0);
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: where no agent comes or goes, there is no time "
                 "to wait for",
                 "[core]") {
  at(3s, join("c")); // When the generation was formed.
  CHECK(uut.waiting_for({"c"}).ends_with("with this one in a moment"));
}

TEST_CASE_METHOD(fixture, "rendezvous: a burst of joiners costs one regroup",
                 "[core]") {
  at(10'000ms, join("c"));
  CHECK(at(10'900ms, join("d")) == "accept_agent d");
  CHECK(at(11'000ms, fire(5)) == "arm_timer 6");
  CHECK(due(6) == 11'900ms);
  CHECK(at(11'900ms, fire(6)) == "revoke_generation 1: a b");
  CHECK(last<revoke_generation>().reason.text == "2 more joined");
  CHECK(at(11'900ms, fire(5)) == "");
}

TEST_CASE_METHOD(fixture, "rendezvous: joiners that fill the job do not wait",
                 "[core]") {
  at(10s, join("c"));
  at(10s, join("d"));
  CHECK(at(10s, join("e")) == "accept_agent e; revoke_generation 1: a b");
  CHECK(last<revoke_generation>().reason.text == "3 more joined");
  CHECK(at(11s, fire(5)) == "");
  stop_all(12s, 1);
  CHECK(transcript(effects)
        == "announce_generation 2: a=0+1 b=1+1 c=2+1 d=3+1 e=4+1");
}

TEST_CASE_METHOD(
  rendezvous_fixture,
  "rendezvous: a trickle of joiners does not delay a generation forever",
  "[core]") {
  auto x = rendezvous_fixture{{2, 99, 0}};
  x.run_two();
  x.at(10'000ms, x.join_here("c"));
  auto timer = uint64_t{5};
  auto t = milliseconds{10'000};
  for (int i = 0; x.uut.current_phase() == phase::running; ++i) {
    REQUIRE(i < 100);
    x.at(x.due(timer) - 1ms, x.join_here("c" + std::to_string(i)));
    t = x.due(timer);
    x.at(t, x.fire(timer));
    ++timer;
  }
  CHECK(t == 40s); // The last call, from the first of them.
}

TEST_CASE_METHOD(fixture, "rendezvous: a joiner that goes again is forgotten",
                 "[core]") {
  at(10s, join("c"));
  CHECK(at(10s, left("c")) == "forget_agent c");
  CHECK(at(11s, fire(5)) == "");
  CHECK(at(20s, join("d")) == "accept_agent d; arm_timer 6");
  CHECK(due(6) == 21s);
}

TEST_CASE_METHOD(fixture, "rendezvous: a joiner without a link is not counted",
                 "[core]") {
  at(10s, join("c"));
  CHECK(at(10s, disconnect("c")) == "probe_agent c");
  CHECK(at(11s, fire(5)) == "");
  CHECK(uut.current_phase() == phase::running);
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: a job about to end gives no place to a joiner",
                 "[core]") {
  at(10s, succeeded("a", 1));
  CHECK(at(10s, join("c")) == "accept_agent c");
  CHECK(at(11s, succeeded("b", 1)) == "end_job succeeded: a b c; arm_timer 5");
}

TEST_CASE_METHOD(fixture, "rendezvous: success cancels a regroup", "[core]") {
  at(10s, join("c"));
  at(10s, succeeded("a", 1));
  CHECK(at(11s, fire(5)) == "");
  CHECK(uut.current_phase() == phase::running);
}

TEST_CASE_METHOD(
  fixture, "rendezvous: the generation after a failure includes the joiners",
  "[core]") {
  at(10s, join("c"));
  CHECK(at(10s, failed("a", 1)) == "revoke_generation 1: a b");
  CHECK(at(11s, fire(5)) == "");
  stop_all(12s, 1);
  CHECK(transcript(effects) == "announce_generation 2: a=0+1 b=1+1 c=2+1");
}

TEST_CASE_METHOD(rendezvous_fixture,
                 "rendezvous: a full job gives no place to a joiner",
                 "[core]") {
  run();
  CHECK(at(1s, join("d")) == "accept_agent d");
  CHECK(uut.current_phase() == phase::running);
}

TEST_CASE_METHOD(fixture, "rendezvous: a job shrinks to its minimum",
                 "[core]") {
  at(10s, join("c"));
  at(11s, fire(5));
  stop_all(11s, 1);
  CHECK(at(12s, left("a")) == "forget_agent a; revoke_generation 2: b c");
  at(12s, stopped("b", 2));
  CHECK(at(12s, stopped("c", 2)) == "announce_generation 3: b=0+1 c=1+1");
  CHECK(last<announce_generation>().reason == "agent a left");
  CHECK(last<announce_generation>().plans.front().master_address
        == "address-b");
}

TEST_CASE_METHOD(fixture, "rendezvous: below the minimum it waits for more",
                 "[core]") {
  CHECK(at(10s, left("b")) == "forget_agent b; revoke_generation 1: a");
  CHECK(at(11s, stopped("a", 1)) == "arm_timer 5");
  CHECK(uut.current_phase() == phase::gathering);
  CHECK(due(5) == 611s);
  CHECK(at(20s, join("c")) == "accept_agent c; arm_timer 6; arm_timer 7");
  CHECK(due(7) == 21s); // The group has met before, so the wait is shorter.
  CHECK(at(21s, fire(7)) == "announce_generation 2: a=0+1 c=1+1");
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: below the minimum it does not wait forever",
                 "[core]") {
  at(10s, left("b"));
  at(11s, stopped("a", 1));
  CHECK(at(611s, fire(5)) == "end_job unmet: a; arm_timer 6");
}

TEST_CASE_METHOD(fixture, "rendezvous: no agent starts before all have stopped",
                 "[core]") {
  at(10s, disconnect("b"));
  at(10s, failed("a", 1));
  at(10s, join("c"));
  CHECK(at(10s, stopped("a", 1)) == ""); // b may still run its workers.
  CHECK(uut.current_phase() == phase::stopping);
  CHECK(at(11s, lose("b"))
        == "forget_agent b; explain_failures 1: a/0, exempt; "
           "announce_generation 2: a=0+1 c=1+1");
}

TEST_CASE_METHOD(fixture, "rendezvous: all agents may be lost", "[core]") {
  at(10s, left("a"));
  CHECK(at(10s, left("b")) == "forget_agent b; arm_timer 5");
  CHECK(uut.current_phase() == phase::gathering);
  at(20s, join("c"));
  at(20s, join("d"));
  CHECK(uut.current_phase() == phase::last_call);
  CHECK(at(21s, fire(7)) == "announce_generation 2: c=0+1 d=1+1");
}

// -- nodes that come and go ---------------------------------------------------

namespace {

/// `a` and `b` stay; `c` comes and goes.
struct flapping : rendezvous_fixture {
  flapping() { run(); }

  /// `c` departs; the others run again, and it is back.
  void flap(milliseconds t, uint64_t generation) {
    REQUIRE(at(t, left("c")).starts_with("forget_agent c; revoke_generation"));
    for (const auto* agent : {"a", "b"})
      at(t, stopped(agent, generation));
    for (const auto* agent : {"a", "b"})
      at(t, started(agent, generation + 1));
    REQUIRE(uut.current_phase() == phase::running);
    returned = at(t, join("c"));
  }

  /// All stop for `c`, and start.
  void take_in(milliseconds t, uint64_t generation) {
    for (const auto* agent : {"a", "b"})
      at(t, stopped(agent, generation));
    REQUIRE(uut.member_count() == 3);
    for (const auto* agent : {"a", "b", "c"})
      at(t, started(agent, generation + 1));
    REQUIRE(uut.current_phase() == phase::running);
  }

  /// Three generations of a second each; `c` is back for the third time at 3 s.
  void flap_thrice() {
    flap(1s, 1);
    REQUIRE(returned == "accept_agent c; revoke_generation 2: a b");
    take_in(1s, 2);
    flap(2s, 3);
    REQUIRE(returned == "accept_agent c; revoke_generation 4: a b");
    take_in(2s, 4);
    flap(3s, 5);
    REQUIRE(returned == "accept_agent c; arm_timer 5");
  }

  std::string returned; ///< What its return brought about.
};

} // namespace

TEST_CASE_METHOD(flapping,
                 "rendezvous: the third time in a row, one that comes and goes "
                 "waits before the job regroups for it",
                 "[core]") {
  flap_thrice();
  CHECK(due(5) == 4s);
  CHECK(uut.waiting_for({"c"})
        == "generation 6 runs with 2 nodes; nodes come and go, so the job "
           "starts again "
           "with this one in 1 s");
  at(3'999ms, heard(3'999ms, "c"));
  CHECK(uut.waiting_for({"c"}).ends_with("in 1 s"));
  CHECK(uut.waiting_for().starts_with("1 more node is here: generation 6 "));
  CHECK(uut.waiting_for().ends_with("the job starts again with all in 1 s"));
  CHECK(at(4s, fire(5)) == "revoke_generation 6: a b");
  take_in(4s, 6);
  SECTION("and longer each time") {
    flap(5s, 7);
    CHECK(returned == "accept_agent c; arm_timer 6");
    CHECK(due(6) == 7s);
    CHECK(at(7s, fire(6)) == "revoke_generation 8: a b");
  }
  SECTION("until a generation has lasted") {
    flap(64s, 7);
    CHECK(returned == "accept_agent c; revoke_generation 8: a b");
  }
}

TEST_CASE_METHOD(flapping,
                 "rendezvous: who leaves in order comes and goes, too",
                 "[core]") {
  flap_thrice();
  at(4s, fire(5));
  take_in(4s, 6);
  at(5s, leaving("c"));
  at(5s, stopped("c", 7));
  at(5s, left("c"));
  for (const auto* agent : {"a", "b"})
    at(5s, stopped(agent, 7));
  CHECK(at(5s, join("c")) == "accept_agent c; arm_timer 6");
  CHECK(due(6) == 7s);
}

TEST_CASE_METHOD(
  flapping, "rendezvous: who waits comes in when the generation ends anyway",
  "[core]") {
  flap_thrice();
  CHECK(at(3s, failed("a", 6)) == "revoke_generation 6: a b");
  at(3s, stopped("a", 6));
  CHECK(at(3s, stopped("b", 6)) == "announce_generation 7: a=0+1 b=1+1 c=2+1");
  CHECK(at(4s, fire(5)) == "");
}

TEST_CASE_METHOD(
  flapping, "rendezvous: who waits comes in at once where too few are left",
  "[core]") {
  flap_thrice();
  at(3s, left("b"));
  CHECK(at(3s, stopped("a", 6)) == "announce_generation 7: a=0+1 c=1+1");
}

namespace {

/// `a` and `b` stay, with room for more; these come and go, from 3 s on.
/// @returns when the last has gone and the generation of the others has begun
std::chrono::milliseconds come_and_go(rendezvous_fixture& x,
                                      const std::vector<const char*>& agents) {
  x.run_two();
  auto t = std::chrono::milliseconds{3s};
  for (const auto* agent : agents) {
    const auto generation = x.uut.generation().value;
    const auto timer = x.armed.rbegin()->first + 1;
    REQUIRE(x.at(t, x.join_here(agent)).starts_with("accept_agent"));
    t = x.due(timer);
    REQUIRE(x.at(t, x.fire(timer)).starts_with("revoke_generation"));
    for (const auto stage : {generation, generation + 1}) {
      for (const auto* who : {"a", "b"})
        x.at(t, x.stopped(who, stage));
      if (stage == generation)
        x.at(t, x.left(agent));
    }
    REQUIRE(x.uut.generation().value == generation + 2);
  }
  return t;
}

} // namespace

TEST_CASE("rendezvous: with room for more, the back-off is the least wait",
          "[core]") {
  auto x = rendezvous_fixture{{2, 9, 0}};
  const auto t = come_and_go(x, {"c", "d", "e", "f"});
  const auto timer = x.armed.rbegin()->first + 1;
  REQUIRE(x.at(t, x.join("g")).starts_with("accept_agent g; arm_timer"));
  CHECK(x.due(timer) == t + 2s);
  CHECK(x.at(t + 2s, x.fire(timer)).starts_with("revoke_generation"));
}

TEST_CASE("rendezvous: newcomers that fill the job wait for the end of the "
          "back-off only",
          "[core]") {
  auto x = rendezvous_fixture{{2, 4, 0}};
  const auto t = come_and_go(x, {"c", "d", "e"});
  const auto timer = x.armed.rbegin()->first + 1;
  x.at(t + 500ms, x.join("g"));
  CHECK(x.due(timer) == t + 1'500ms);
  CHECK(x.at(t + 600ms, x.join("h")).starts_with("accept_agent h; arm_timer"));
  CHECK(x.due(timer + 1) == t + 1s);
  SECTION("and it ends") {
    CHECK(x.at(t + 1s, x.fire(timer + 1)).find("revoke_generation")
          != std::string::npos);
  }
  SECTION("or for others, if one of them goes") {
    x.at(t + 700ms, x.left("h"));
    CHECK(x.at(t + 1s, x.fire(timer + 1))
            .ends_with("arm_timer " + std::to_string(timer + 2)));
    CHECK(x.due(timer + 2) == t + 1'600ms); // A second after the last arrival.
  }
}

TEST_CASE_METHOD(
  fixture, "rendezvous: a node that has finished makes no room when it goes",
  "[core]") {
  at(10s, resize_requested{1, 2, "alice"});
  at(11s, join("c"));
  at(12s, succeeded("a", 1));
  CHECK(at(13s, left("a")) == "forget_agent a");
  CHECK(at(100s, succeeded("b", 1)).starts_with("end_job succeeded"));
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: a node that comes and goes before it has a place "
                 "ends fewer and fewer generations",
                 "[core]") {
  auto now = 10s;
  auto waits = std::vector<std::chrono::seconds>{};
  for (uint64_t generation = 1; generation <= 6; ++generation) {
    const auto come = join("c" + std::to_string(generation));
    at(now, come);
    auto settles = now;
    do {
      const auto timer = last<arm_timer>().timer.value;
      settles = std::chrono::duration_cast<std::chrono::seconds>(due(timer));
      at(settles, fire(timer));
    } while (uut.current_phase() == phase::running
             && settles < now + std::chrono::minutes{10});
    REQUIRE(uut.current_phase() == phase::stopping);
    waits.push_back(settles - now);
    now = settles;
    at(now, left(come.offering.agent.value));
    stop_all(now, generation);
    REQUIRE(uut.generation() == generation_id{generation + 1});
    for (const auto* agent : {"a", "b"})
      at(now, started(agent, generation + 1));
  }
  CHECK(waits == std::vector<std::chrono::seconds>{1s, 1s, 1s, 1s, 2s, 4s});
}

} // namespace actorrun::test::rendezvous_joiners_test
