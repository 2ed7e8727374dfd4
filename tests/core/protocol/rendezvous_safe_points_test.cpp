// Tests changes that wait until all workers have come to one step.
#include "tests/support/rendezvous_fixture.hpp"

namespace actorrun::test::rendezvous_safe_points_test {

namespace {

using kind = safe_point_report::kind;

safe_point_reported reported(const std::string& agent, kind what,
                             uint64_t step = 0, uint64_t generation = 1,
                             uint64_t round = 1) {
  return {{agent}, {generation}, {what, step, round}};
}

/// One to three agents; `a` and `b` run generation 1 since 3 s, with safe points.
struct fixture : rendezvous_fixture {
  fixture() {
    run_two();
    at(3s, resize_requested{1, 3, "alice"});
    CHECK(at(4s, reported("a", kind::stepping, 0, 1, 0)) == "");
  }

  /// `c` has come, its workers are ready, and all others are asked to hold.
  void ask() {
    REQUIRE(at(10s, join("c"))
            == "accept_agent c; start_ahead 1: c; arm_timer 5");
    REQUIRE(at(10s, ready("c")) == "arm_timer 6; hold of 1: a b");
    REQUIRE(due(6) == 70s);
  }

  /// Its worker was started ahead of generation 2, and is parked.
  static workers_stopped ready(const std::string& agent,
                               uint64_t generation = 1) {
    auto x = stopped(agent, generation);
    x.parked = {{}, {0}};
    return x;
  }

  /// All hold, and are to stop at step 13.
  void agree() {
    ask();
    at(10s, reported("a", kind::held, 12));
    REQUIRE(at(10s, reported("b", kind::held, 13)) == "stop_at 13 of 1: a b");
  }
};

} // namespace

TEST_CASE_METHOD(fixture,
                 "rendezvous: a joiner waits until all workers are at one step",
                 "[core]") {
  ask();
  CHECK(last<send_safe_point_order>().reason == "1 more joined");
  CHECK(uut.waiting_for()
        == "1 more joined: the workers are asked for a safe point");
  CHECK(uut.waits_until() == time_point{70s});
  CHECK(at(10s, reported("a", kind::held, 12)) == "");
  CHECK(at(10s, reported("b", kind::held, 13)) == "stop_at 13 of 1: a b");
  CHECK(uut.waiting_for() == "1 more joined: the workers go on to step 13");
  CHECK(
    uut.waiting_for({"c"})
    == "generation 1 runs with 2 nodes; the job starts again with this one: the"
       " workers go on to step 13");
  CHECK(uut.current_phase() == phase::running);
  CHECK(at(11s, reported("b", kind::reached, 13)) == "");
  CHECK(at(12s, reported("a", kind::reached, 13))
        == "revoke_generation 1: a b");
  CHECK(last<revoke_generation>().reason.text == "1 more joined");
  CHECK(at(70s, fire(6)) == "");
  at(12s, stopped("a", 1));
  CHECK(at(12s, stopped("b", 1)) == "announce_generation 2: a=0+1 b=1+1 c=2+1");
  CHECK(uut.budget().restart_count() == 0);
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: more joiners wait for the same safe point",
                 "[core]") {
  agree();
  CHECK(at(10s, join("d")) == "accept_agent d");
  CHECK(at(11s, leaving("d")) == "");
  at(11s, reported("a", kind::reached, 13));
  CHECK(at(11s, reported("b", kind::reached, 13))
        == "revoke_generation 1: a b");
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: answers to older orders, and of agents without "
                 "a place, count for nothing",
                 "[core]") {
  agree();
  CHECK(at(11s, reported("a", kind::held, 14)) == "");
  CHECK(at(11s, reported("a", kind::reached, 12)) == "");
  CHECK(at(11s, reported("c", kind::reached, 13)) == "");
  CHECK(at(11s, reported("x", kind::reached, 13)) == "");
  CHECK(at(11s, reported("b", kind::reached, 13, 2)) == "");
  CHECK(at(11s, reported("b", kind::reached, 13)) == "");
  CHECK(at(11s, reported("b", kind::reached, 13)) == "");
  CHECK(uut.current_phase() == phase::running);
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: workers that come to no safe point lose a step",
                 "[core]") {
  SECTION("they do not answer") {
    ask();
  }
  SECTION("they do not get there") {
    agree();
    at(10s, reported("a", kind::reached, 13));
  }
  CHECK(at(70s, fire(6)) == "revoke_generation 1: a b");
  CHECK(last<revoke_generation>().reason.text
        == "1 more joined; the workers have come to no safe point in 60.0 s");
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: workers that cannot be told are not "
                 "waited for",
                 "[core]") {
  ask();
  CHECK(at(10s, reported("b", kind::refused)) == "revoke_generation 1: a b");
  CHECK(last<revoke_generation>().reason.text
        == "1 more joined; some workers cannot be told where to stop");
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: a successor lets workers go on that hold, also "
                 "while it waits for others",
                 "[core]") {
  auto next = rendezvous_fixture{{2, 3, 1}};
  next.at(0s, coordinator_started{.successor = true});
  next.at(0s, next.rejoin("a", plan_of("a"), share_state::running));
  CHECK(next.at(0s, reported("a", kind::held, 5)) == "go_on of 1: a");
  next.at(0s, next.rejoin("b", plan_of("b"), share_state::running));
  CHECK(next.uut.current_phase() == phase::running);
  CHECK(next.at(0s, reported("b", kind::reached, 5)) == "go_on of 1: b");
  CHECK(next.at(0s, reported("b", kind::refused)) == "go_on of 1: b");
  CHECK(next.at(0s, reported("b", kind::stepping, 0, 1, 0)) == "");
  // It has been ordered to hold, and has not answered yet.
  CHECK(next.at(0s, reported("b", kind::stepping, 0, 1, 3)) == "go_on of 1: b");
}

TEST_CASE("rendezvous: there may be no time for safe points", "[core]") {
  auto limits = timeouts{};
  limits.safe_point = 0ms;
  auto x = rendezvous_fixture{{2, 3, 1}, limits};
  x.run_two();
  x.at(4s, reported("a", kind::stepping));
  CHECK(x.at(10s, x.join("c")) == "accept_agent c; revoke_generation 1: a b");
}

TEST_CASE_METHOD(fixture, "rendezvous: what cannot wait does not", "[core]") {
  agree();
  SECTION("a failure") {
    CHECK(at(11s, failed("a", 1)) == "revoke_generation 1: a b");
  }
  SECTION("a node that leaves") {
    CHECK(at(11s, leaving("b")) == "revoke_generation 1: a b");
  }
  SECTION("an operator's restart") {
    at(11s, restart_requested{"alice", ""});
    CHECK(uut.current_phase() == phase::stopping);
  }
  SECTION("the end of the job") {
    at(11s, stop_requested{.by = "alice"});
    CHECK(uut.current_phase() == phase::ended);
  }
  CHECK(at(12s, reported("a", kind::reached, 13)) == "");
  CHECK(at(70s, fire(6)) == "");
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: a change that is not wanted any more is called "
                 "off",
                 "[core]") {
  SECTION("while all hold") {
    ask();
    CHECK(at(11s, left("c")) == "forget_agent c; go_on of 1: a b");
  }
  SECTION("while they go on") {
    agree();
    at(11s, reported("a", kind::reached, 13));
    CHECK(at(11s, left("c")) == "forget_agent c; go_on of 1: a b");
  }
  CHECK(at(70s, fire(6)) == "");
  CHECK(uut.waiting_for() == "");
  // What they say meanwhile.
  CHECK(at(11s, reported("b", kind::held, 13)) == "go_on of 1: b");
  CHECK(at(11s, reported("b", kind::reached, 13)) == "go_on of 1: b");
  CHECK(at(12s, join("c")) == "accept_agent c; start_ahead 1: c; arm_timer 7");
  CHECK(at(12s, ready("c")) == "arm_timer 8; hold of 1: a b");
  // On its way when that was ordered.
  CHECK(at(12s, reported("b", kind::held, 13)) == "");
  CHECK(at(12s, reported("b", kind::held, 14, 1, 2)) == "");
  CHECK(at(12s, reported("a", kind::held, 14, 1, 2)) == "stop_at 14 of 1: a b");
}

TEST_CASE_METHOD(fixture, "rendezvous: a job that ends is not held up",
                 "[core]") {
  SECTION("all workers of one node have succeeded") {
    agree();
    CHECK(at(11s, succeeded("a", 1)) == "go_on of 1: b");
  }
  SECTION("all that are waited for have") {
    ask();
    at(11s, reported("a", kind::held, 3));
    CHECK(at(11s, succeeded("b", 1)) == "stop_at 3 of 1: a; go_on of 1: a");
  }
  CHECK(uut.current_phase() == phase::running);
}

TEST_CASE_METHOD(fixture, "rendezvous: an agent that comes back is told again",
                 "[core]") {
  SECTION("to hold") {
    ask();
    at(11s, disconnect("b"));
    CHECK(at(11s, rejoin("b", plan_of("b"), share_state::running))
          == "accept_agent b; hold of 1: b");
  }
  SECTION("where to stop") {
    agree();
    at(11s, disconnect("b"));
    CHECK(at(11s, rejoin("b", plan_of("b"), share_state::running))
          == "accept_agent b; stop_at 13 of 1: b");
  }
}

TEST_CASE_METHOD(fixture, "rendezvous: a drained node leaves at a safe point",
                 "[core]") {
  const auto asked = drain_requested{"b", 300s, false, "alice"};
  CHECK(
    at(10s, asked).starts_with("notify_drain b; arm_timer 5; hold of 1: a b"));
  CHECK(due(5) == 310s);
  CHECK(last<notify_drain>().at_safe_point);
  CHECK(
    last<answer_operator>().text
    == "node node-b leaves in 5 min 0 s at the latest, or when all workers have"
       " come to a safe point");
  CHECK(last<send_safe_point_order>().reason
        == "node node-b is to leave, asked for by alice");
  at(10s, reported("a", kind::held, 4));
  CHECK(at(10s, reported("b", kind::held, 4)) == "stop_at 4 of 1: a b");
  // It would take the place; until then all go on to the step.
  CHECK(at(10s, join("c")) == "accept_agent c");
  at(11s, reported("a", kind::reached, 4));
  CHECK(at(11s, reported("b", kind::reached, 4)) == "revoke_generation 1: a b");
  at(12s, leaving("b"));
  at(12s, stopped("b", 1));
  CHECK(at(12s, stopped("a", 1)) == "announce_generation 2: a=0+1 c=1+1");
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: while all go on to a safe point, a drain keeps "
                 "the time that it promises",
                 "[core]") {
  ask();
  at(20s, drain_requested{"b", 300s, false, "alice"});
  CHECK(due(7) == 320s);
  CHECK(at(70s, fire(6)) == "");
  CHECK(at(320s, fire(7)) == "revoke_generation 1: a b");
  CHECK(last<revoke_generation>().reason.text
        == "node node-b is to leave, asked for by alice; the workers have come"
           " to no safe point in 5 min 10 s");
}

TEST_CASE_METHOD(
  fixture,
  "rendezvous: where not all workers have safe points, a drained "
  "node gets notice and its time",
  "[core]") {
  at(10s, drain_requested{"b", 300s, false, "alice"});
  REQUIRE(last<notify_drain>().at_safe_point);
  CHECK(at(11s, reported("b", kind::refused))
        == "notify_drain b; go_on of 1: a b");
  CHECK_FALSE(last<notify_drain>().at_safe_point);
  CHECK(last<notify_drain>().time == 299s);
  CHECK(uut.current_phase() == phase::running);
  CHECK(at(310s, fire(5)) == "");
  CHECK(at(310s, leaving("b")) == "revoke_generation 1: a b");
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: work that is done is not thrown away for fewer "
                 "nodes",
                 "[core]") {
  at(10s, resize_requested{1, 1, "alice"});
  at(10s, reported("a", kind::held, 9));
  SECTION("when all have ended before they hold") {
    CHECK(at(11s, succeeded("a", 1)).find("revoke") == std::string::npos);
    CHECK(at(11s, succeeded("b", 1)).starts_with("end_job succeeded"));
  }
  SECTION("when one has") {
    CHECK(at(11s, succeeded("a", 1)).starts_with("go_on of 1: b"));
    CHECK(at(70s, fire(5)) == "");
    CHECK(at(71s, succeeded("b", 1)).starts_with("end_job succeeded"));
  }
}

TEST_CASE_METHOD(fixture, "rendezvous: other changes that can wait", "[core]") {
  SECTION("fewer nodes") {
    CHECK(at(10s, resize_requested{1, 1, "alice"}).find("hold of 1: a b")
          != std::string::npos);
  }
  SECTION("an excluded host") {
    CHECK(at(10s, exclusion_requested{"node-b", "bob", "bad disk"})
            .find("hold of 1: a b")
          != std::string::npos);
    // It is let in again.
    CHECK(at(10s, inclusion_requested{"node-b", "bob"}).find("go_on of 1: a b")
          != std::string::npos);
  }
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: before a time limit all save at one step, and go "
                 "on",
                 "[core]") {
  const auto near_limit = [](const std::string& agent, milliseconds left) {
    auto x = reported(agent, kind::wanted);
    x.report.left = left;
    return x;
  };
  SECTION("once, however many nodes tell of it") {
    CHECK(at(10s, near_limit("a", 90s)) == "arm_timer 5; hold of 1: a b");
    CHECK(due(5) == 70s);
    CHECK(last<send_safe_point_order>().reason
          == "the time limit of the job is near");
    CHECK(uut.waiting_for()
          == "the time limit of the job is near: the workers are asked for a"
             " safe point");
    CHECK(at(12s, near_limit("b", 89s)) == "");
    at(12s, reported("a", kind::held, 12));
    CHECK(at(12s, reported("b", kind::held, 13)) == "stop_at 13 of 1: a b");
    at(13s, reported("a", kind::reached, 13));
    CHECK(at(13s, reported("b", kind::reached, 13)) == "go_on of 1: a b");
    CHECK(last<send_safe_point_order>().reason == "all have saved at step 13");
    CHECK(uut.current_phase() == phase::running);
    CHECK(at(70s, fire(5)) == "");
    CHECK(at(14s, near_limit("a", 58s)) == "");
    CHECK(at(14s, near_limit("a", 114s)) == "");
    // It was extended.
    CHECK(at(70s, near_limit("a", 100s)) == "arm_timer 6; hold of 1: a b");
  }
  SECTION("if there is that much time") {
    CHECK(at(10s, near_limit("a", 5s)) == "arm_timer 5; hold of 1: a b");
    CHECK(due(5) == 15s);
    CHECK(at(15s, fire(5)) == "go_on of 1: a b");
    CHECK(last<send_safe_point_order>().reason
          == "they have not saved: the workers have come to no safe point in"
             " 5.0 s");
    CHECK(at(15s, near_limit("b", 1s)) == "");
  }
  SECTION("together with a change") {
    ask();
    CHECK(at(10s, near_limit("a", 90s)) == "");
    at(10s, reported("a", kind::held, 12));
    at(10s, reported("b", kind::held, 13));
    at(11s, reported("a", kind::reached, 13));
    CHECK(at(11s, reported("b", kind::reached, 13))
          == "revoke_generation 1: a b");
    CHECK(at(12s, near_limit("b", 88s)) == "");
  }
  SECTION("not if some cannot be told") {
    at(10s, near_limit("a", 90s));
    CHECK(at(10s, reported("b", kind::refused)) == "go_on of 1: a b");
    CHECK(last<send_safe_point_order>().reason
          == "they have not saved: some workers cannot be told where to stop");
    CHECK(uut.current_phase() == phase::running);
  }
  SECTION("nor if some that are drained cannot be") {
    at(10s, drain_requested{"b", 300s, false, "alice"});
    at(10s, near_limit("a", 90s));
    CHECK(at(11s, reported("b", kind::refused))
          == "notify_drain b; go_on of 1: a b");
    CHECK(at(12s, near_limit("a", 88s)) == ""); // They are not asked again.
  }
  SECTION("in the next generation, if this one ends before") {
    at(10s, near_limit("a", 90s));
    at(10s, failed("b", 1));
    at(11s, stopped("a", 1));
    REQUIRE(at(11s, stopped("b", 1)) == "announce_generation 2: a=0+1 b=1+1");
    at(12s, started("a", 2));
    CHECK(at(12s, started("b", 2)) == "");
    CHECK(at(13s, reported("a", kind::stepping, 0, 2, 0))
            .ends_with("hold of 2: a b"));
  }
  SECTION("or not, if that comes too late") {
    at(10s, near_limit("a", 2s));
    at(10s, failed("b", 1));
    at(11s, stopped("a", 1));
    at(11s, stopped("b", 1));
    at(12s, started("a", 2));
    at(12s, started("b", 2));
    CHECK(at(13s, reported("a", kind::stepping, 0, 2, 0)) == "");
  }
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: newcomers that have to wait do not end a "
                 "generation that saves before a time limit",
                 "[core]") {
  auto g = uint64_t{1};
  auto member = std::string{"b"};
  for (; g < 5; ++g) { // Each was ended by a departure.
    const auto next = "b" + std::to_string(g);
    at(5s, left(member));
    at(5s, join(next));
    REQUIRE(at(5s, stopped("a", g)).find("announce_generation")
            != std::string::npos);
    at(5s, started("a", g + 1));
    at(5s, started(next, g + 1));
    member = next;
  }
  at(5s, reported("a", kind::stepping, 0, g, 0));
  auto limit = reported("a", kind::wanted, 0, g);
  limit.report.left = 90s;
  CHECK(at(5s, limit).ends_with("hold of 5: a b4"));
  at(5s, join("c"));
  at(5s, reported("a", kind::held, 12, g));
  at(5s, reported("b4", kind::held, 12, g));
  at(6s, reported("a", kind::reached, 12, g));
  CHECK(at(6s, reported("b4", kind::reached, 12, g)).starts_with("go_on of 5"));
  const auto settle = armed.rbegin()->first;
  CHECK(due(settle) == 7s);
  CHECK(at(7s, fire(settle)).starts_with("start_ahead 5: c"));
  CHECK(at(7s, ready("c", 5)).ends_with("hold of 5: a b4"));
  CHECK(last<send_safe_point_order>().reason == "1 more joined");
}

TEST_CASE_METHOD(fixture, "rendezvous: each generation has its own safe points",
                 "[core]") {
  at(5s, failed("a", 1));
  at(5s, stopped("a", 1));
  at(5s, stopped("b", 1));
  at(6s, started("a", 2));
  at(6s, started("b", 2));
  CHECK(at(6s, reported("a", kind::held, 3, 1)) == "");
  const auto text = at(10s, join("c"));
  CHECK(text.find("revoke_generation 2: a b") != std::string::npos);
}

} // namespace actorrun::test::rendezvous_safe_points_test
