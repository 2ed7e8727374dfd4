// Tests how agents join and leave.
#include "tests/support/rendezvous_fixture.hpp"

namespace actorrun::test::rendezvous_test {

using fixture = rendezvous_fixture;

// -- joining -------------------------------------------------------------------

TEST_CASE_METHOD(fixture, "rendezvous: a first agent is accepted and waits",
                 "[core]") {
  CHECK(at(0s, join("a")) == "accept_agent a; arm_timer 1; arm_timer 2");
  CHECK(due(1) == 600s);    // The wait for the minimum.
  CHECK(due(2) == 1'200ms); // Its lease.
  CHECK(uut.current_phase() == phase::gathering);
  CHECK(uut.agents().size() == 1);
  CHECK(uut.generation() == generation_id{0});
}

TEST_CASE_METHOD(fixture, "rendezvous: all must have the same settings",
                 "[core]") {
  struct row {
    job_settings asked;
    std::string text;
  };
  const row rows[] = {
    {{1, 3, 1}, "--nnodes=1:3 --max-restarts=1"},
    {{2, 2, 1}, "--nnodes=2 --max-restarts=1"},
    {{2, 4, 1}, "--nnodes=2:4 --max-restarts=1"},
    {{2, 3, 0}, "--nnodes=2:3 --max-restarts=0"},
  };
  for (const auto& x : rows) {
    auto other = join("x");
    other.settings = x.asked;
    CHECK(at(0s, other) == "reject_agent x: settings_mismatch");
    CHECK(last<reject_agent>().text
          == "the job runs with --nnodes=2:3 --max-restarts=1, agent x asks "
             "for "
               + x.text);
  }
  CHECK(uut.agents().empty());
}

TEST_CASE_METHOD(fixture, "rendezvous: slot counts have bounds", "[core]") {
  auto strange = join("a");
  strange.offering.address = "10.0.0.1\nMASTER_PORT=1";
  CHECK(at(0s, strange) == "reject_agent a: bad_plan");
  CHECK(at(0s, join("a", 0)) == "reject_agent a: bad_slot_count");
  CHECK(last<reject_agent>().text
        == "agent a offers 0 workers; 1 to 4096 are possible");
  CHECK(at(0s, join("a", 4097)) == "reject_agent a: bad_slot_count");
  CHECK(last<reject_agent>().text
        == "agent a offers 4097 workers; 1 to 4096 are possible");
  CHECK(uut.agents().empty());
  at(0s, join("a", 1));
  at(0s, join("b", 4096));
  CHECK(at(3s, fire(4)) == "announce_generation 1: a=0+1 b=1+4096");
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: an agent beyond the maximum is a standby",
                 "[core]") {
  start();
  CHECK(at(1s, join("d")) == "accept_agent d");
  CHECK(uut.agents().size() == 4);
  CHECK(uut.member_count() == 3);
  at(1s, heard(1s, "d"));
  at(1'200ms, fire(2));
  CHECK(uut.agents().size() == 1);
  CHECK(uut.agents().contains({"d"}));
}

TEST_CASE("rendezvous: a job of one agent starts at once", "[core]") {
  auto x = fixture{{1, 1, 0}};
  CHECK(x.at(0s, x.join_here("a"))
        == "accept_agent a; announce_generation 1: a=0+1");
}

TEST_CASE_METHOD(fixture, "rendezvous: joining twice counts once", "[core]") {
  at(0s, join("a"));
  CHECK(at(1s, join("a", 5)) == "accept_agent a");
  CHECK(uut.agents().size() == 1);
  CHECK(uut.agents().at({"a"}).offering.slot_count == 5);
}

// -- leases -------------------------------------------------------------------

TEST_CASE_METHOD(fixture, "rendezvous: a keep-alive renews the lease",
                 "[core]") {
  at(0s, join("a"));
  CHECK(at(1'200ms, heard(1'000ms, "a")) == "");
  CHECK(at(1'200ms, fire(2)) == "arm_timer 3");
  CHECK(due(3) == 2'200ms);
  CHECK(at(2'200ms, fire(3)) == "forget_agent a");
}

TEST_CASE_METHOD(fixture, "rendezvous: an agent that has left has no lease",
                 "[core]") {
  at(0s, join("a"));
  at(1'000ms, heard(1'000ms, "a"));
  at(1'100ms, left("a"));
  CHECK(at(1'200ms, fire(2)) == ""); // There is no lease to wait for.
}

TEST_CASE_METHOD(fixture, "rendezvous: an unknown agent gets no lease",
                 "[core]") {
  CHECK(at(0s, heard(0s, "a")) == "");
  at(0s, join("a"));
  at(0s, left("a"));
  CHECK(at(0s, heard(0s, "a")) == "");
}

TEST_CASE_METHOD(
  fixture, "rendezvous: an agent of the coordinator's process needs no lease",
  "[core]") {
  CHECK(at(0s, join_here("a")) == "accept_agent a; arm_timer 1");
  CHECK(at(0s, heard(0s, "a")) == "");
}

TEST_CASE_METHOD(fixture, "rendezvous: silence for a lease loses an agent",
                 "[core]") {
  run();
  at(1'000ms, heard(1'000ms, "a"));
  at(1'000ms, heard(1'000ms, "c"));
  CHECK(at(1'200ms, fire(2))
        == "forget_agent b; revoke_generation 1: a c; arm_timer 5");
  CHECK(last<revoke_generation>().reason.text
        == "agent b lost: silent for 1200 ms");
  CHECK(due(5) == 2'200ms);
}

TEST_CASE_METHOD(fixture, "rendezvous: several agents may be lost at once",
                 "[core]") {
  run();
  at(1'000ms, heard(1'000ms, "b"));
  const auto text = at(1'200ms, fire(2));
  CHECK(text.starts_with("forget_agent a; revoke_generation 1: b"));
  CHECK(text.ends_with("; forget_agent c; arm_timer 5"));
  CHECK(at(1'300ms, stopped("b", 1)) == "arm_timer 6");
  CHECK(due(6) == 601'300ms); // One agent is not enough.
}

// Tests the latest keep-alive that is still on time, and one that is too late.
TEST_CASE_METHOD(fixture, "rendezvous: a late timer still counts as on time",
                 "[core]") {
  at(0s, join("a"));
  CHECK(at(1'500ms, fire(2)) == "forget_agent a");
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: a coordinator that slept declares no agent lost",
                 "[core]") {
  at(0s, join("a"));
  CHECK(at(1'501ms, fire(2)) == "arm_timer 3");
  CHECK(due(3) == 1'200ms + 301ms + 300ms);
  CHECK(at(due(3), fire(3)) == "forget_agent a");
}

TEST_CASE_METHOD(fixture, "rendezvous: a lease timer of the past is ignored",
                 "[core]") {
  at(0s, join("a"));
  at(1s, heard(1s, "a"));
  at(1'200ms, fire(2));
  CHECK(at(5s, fire(2)) == "");
  CHECK(uut.agents().size() == 1);
}

// -- links break --------------------------------------------------------------

TEST_CASE_METHOD(fixture, "rendezvous: a broken link is investigated",
                 "[core]") {
  run();
  CHECK(at(1s, disconnect("b")) == "probe_agent b");
  CHECK(uut.current_phase() == phase::running);
  CHECK(at(1s, lose("b")) == "forget_agent b; revoke_generation 1: a c");
  CHECK(last<revoke_generation>().reason.text
        == "agent b lost: connection refused");
}

TEST_CASE_METHOD(fixture, "rendezvous: an agent that comes back is alive",
                 "[core]") {
  run();
  at(1s, disconnect("b"));
  at(1s, rejoin("b", plan_of("b"), share_state::running));
  CHECK(at(1s, lose("b")) == "");
  CHECK(uut.member_count() == 3);
}

TEST_CASE_METHOD(fixture, "rendezvous: unknown agents cannot be lost",
                 "[core]") {
  CHECK(at(0s, lose("x")) == "");
  CHECK(at(0s, disconnect("x")) == "");
  CHECK(at(0s, left("x")) == "");
  CHECK(at(0s, leaving("x")) == "");
}

TEST_CASE_METHOD(
  fixture,
  "rendezvous: an agent of the coordinator's process is lost with its link",
  "[core]") {
  at(0s, join_here("a"));
  at(0s, join("b"));
  CHECK(at(1s, disconnect("a")).starts_with("forget_agent a"));
  CHECK(uut.agents().size() == 1);
}

TEST_CASE_METHOD(
  fixture, "rendezvous: the end of an agent beside the coordinator is a reason",
  "[core]") {
  at(0s, join_here("a"));
  at(0s, join("b"));
  at(0s, join("c"));
  REQUIRE(uut.generation() == generation_id{1});
  CHECK(at(1s, disconnect("a")) == "forget_agent a; revoke_generation 1: b c");
  CHECK(last<revoke_generation>().reason.text == "agent a ended");
}

TEST_CASE_METHOD(fixture, "rendezvous: an agent without a link is not placed",
                 "[core]") {
  at(0s, join("a"));
  at(0s, join("b"));
  CHECK(at(1s, disconnect("b")) == "probe_agent b; arm_timer 5");
  CHECK(uut.current_phase() == phase::gathering);
  CHECK(due(5) == 601s);
  CHECK(at(3s, fire(4)) == "");
  CHECK(at(4s, join("c")) == "accept_agent c; arm_timer 6; arm_timer 7");
  CHECK(at(7s, fire(7)) == "announce_generation 1: a=0+1 c=1+1");
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: an agent that comes back is placed again",
                 "[core]") {
  at(0s, join("a"));
  at(0s, join("b"));
  at(1s, disconnect("b"));
  CHECK(at(2s, join("b")) == "accept_agent b; arm_timer 6; arm_timer 7");
  CHECK(at(5s, fire(7)) == "announce_generation 1: a=0+1 b=1+1");
}

// -- leaving ------------------------------------------------------------------

TEST_CASE_METHOD(fixture,
                 "rendezvous: a member that leaves ends the generation",
                 "[core]") {
  run();
  CHECK(at(1s, leaving("b", 15)) == "revoke_generation 1: a b c");
  CHECK(last<revoke_generation>().reason.text == "agent b leaves (signal 15)");
  at(1s, stopped("a", 1));
  at(1s, stopped("b", 1));
  CHECK(at(1s, stopped("c", 1)) == "announce_generation 2: a=0+1 c=1+1");
  CHECK(at(1s, left("b")) == "forget_agent b");
  CHECK(uut.budget().restart_count() == 0);
}

TEST_CASE_METHOD(fixture, "rendezvous: it may leave without a signal",
                 "[core]") {
  run();
  at(1s, leaving("b"));
  CHECK(last<revoke_generation>().reason.text == "agent b leaves");
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: an agent that leaves without notice is removed",
                 "[core]") {
  run();
  CHECK(at(1s, left("b")) == "forget_agent b; revoke_generation 1: a c");
  CHECK(last<revoke_generation>().reason.text == "agent b left");
}

TEST_CASE_METHOD(fixture, "rendezvous: a standby that leaves changes nothing",
                 "[core]") {
  run();
  at(1s, join("d"));
  CHECK(at(2s, leaving("d")) == "");
  CHECK(at(2s, left("d")) == "forget_agent d");
}

TEST_CASE_METHOD(fixture, "rendezvous: an agent that has succeeded may leave",
                 "[core]") {
  run();
  at(1s, succeeded("b", 1));
  CHECK(at(1s, leaving("b")) == "");
  CHECK(at(1s, left("b")) == "forget_agent b");
  at(2s, succeeded("a", 1));
  CHECK(at(2s, succeeded("c", 1)) == "end_job succeeded: a c; arm_timer 5");
}

TEST_CASE_METHOD(fixture, "rendezvous: an agent that leaves is not placed",
                 "[core]") {
  at(0s, join("a"));
  at(0s, join("b"));
  CHECK(at(1s, leaving("b")) == "arm_timer 5");
  CHECK(uut.current_phase() == phase::gathering);
  CHECK(at(3s, fire(4)) == "");
}

// -- the end ------------------------------------------------------------------

TEST_CASE_METHOD(fixture, "rendezvous: a request ends the job", "[core]") {
  run();
  CHECK(at(1s, stop_requested{15}) == "end_job stopped: a b c; arm_timer 5");
  CHECK(uut.current_phase() == phase::ended);
  CHECK(due(5) == 31s);
  CHECK(uut.result() == last<end_job>().result);
  CHECK(uut.result()->signal == 15);
  CHECK(uut.result()->reason == "the job was asked to end by signal 15");
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: the coordinator waits for the last agent",
                 "[core]") {
  run();
  at(1s, stop_requested{15});
  CHECK(at(2s, left("a")) == "forget_agent a");
  CHECK(at(2s, left("b")) == "forget_agent b");
  CHECK(at(2s, left("c")) == "forget_agent c; close_job");
}

TEST_CASE_METHOD(fixture, "rendezvous: the coordinator does not wait forever",
                 "[core]") {
  run();
  at(1s, stop_requested{15});
  for (const auto* agent : {"a", "b", "c"})
    at(2s, stopped(agent, 1));
  CHECK(at(31s, fire(5)) == "close_job");
  for (const auto* agent : {"a", "b", "c"})
    CHECK(at(32s, left(agent)) == ""); // It has closed, once.
}

TEST_CASE_METHOD(
  fixture,
  "rendezvous: it does not leave agents alone whose workers have a "
  "long grace period",
  "[core]") {
  run();
  at(1s, stop_requested{15});
  at(2s, stopped("a", 1));
  at(2s, left("a"));
  CHECK(at(31s, fire(5)) == "arm_timer 6");
  CHECK(due(6) == 61s);
  at(50s, stopped("b", 1));
  at(50s, left("b"));
  SECTION("until all have ended") {
    at(60s, stopped("c", 1));
    CHECK(at(61s, fire(6)) == "close_job");
  }
  SECTION("or fall silent") {
    CHECK(at(61s, fire(6)) == "arm_timer 7");
    at(62s, disconnect("c"));
    CHECK(at(62s, lose("c")) == "forget_agent c; close_job");
  }
}

TEST_CASE_METHOD(fixture, "rendezvous: silent agents need not be notified",
                 "[core]") {
  run();
  at(1s, stop_requested{15});
  CHECK(at(1'200ms, fire(2))
        == "forget_agent a; forget_agent b; forget_agent c; close_job");
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: it does not wait for agents gone with their "
                 "host",
                 "[core]") {
  run();
  at(1s, stop_requested{15});
  at(1s, left("a"));
  at(1s, left("b"));
  CHECK(at(2s, disconnect("c")) == "probe_agent c");
  CHECK(at(2s, lose("c")) == "forget_agent c; close_job");
}

TEST_CASE_METHOD(fixture, "rendezvous: a job that has ended awaits no agent",
                 "[core]") {
  at(0s, join("a"));
  at(1s, stop_requested{15});
  CHECK(at(600s, fire(1)) == "");
  CHECK(uut.result()->kind == outcome::verdict::stopped);
}

TEST_CASE_METHOD(fixture, "rendezvous: the job ends once", "[core]") {
  run();
  at(1s, stop_requested{15});
  CHECK(at(2s, stop_requested{2}) == "");
  CHECK(uut.result()->signal == 15);
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: an agent that comes late learns of the end",
                 "[core]") {
  run();
  at(1s, stop_requested{15});
  CHECK(at(2s, join("d")) == "accept_agent d; end_job stopped: d");
}

TEST_CASE_METHOD(fixture, "rendezvous: without agents the job closes at once",
                 "[core]") {
  CHECK(at(0s, stop_requested{2})
        == "end_job stopped:; arm_timer 1; close_job");
}

TEST_CASE_METHOD(fixture, "rendezvous: nothing happens after the close",
                 "[core]") {
  at(0s, stop_requested{2});
  CHECK(at(1s, join("a")) == "");
  CHECK(at(1s, stop_requested{2}) == "");
  CHECK(at(30s, fire(1)) == "");
  CHECK(at(30s, coordinator_started{true}) == "");
}

TEST_CASE("rendezvous: U4 an agent that waits learns for whom and how long",
          "[core]") {
  SECTION("for more nodes") {
    auto x = rendezvous_fixture{{2, 2, 0}};
    x.at(0s, x.join("a"));
    CHECK(
      x.uut.waiting_for({"a"})
      == "waiting for 1 more node: 1 of 2 nodes are here (10 min 0 s at most)");
  }
  SECTION("while a coordinator listens for an earlier job") {
    auto x = rendezvous_fixture{{2, 2, 0}};
    x.at(0s, coordinator_started{.successor = true});
    x.at(0s, x.join("a"));
    CHECK(x.uut.waiting_for({"a"})
          == "listening for agents of an earlier coordinator: 1 of 2 nodes are"
             " here (1.2 s at most)");
  }
}

} // namespace actorrun::test::rendezvous_test
