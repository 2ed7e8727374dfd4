// Tests how generations form and end.
#include "actors/core/protocol/rank_assignment.hpp"
#include "tests/support/rendezvous_fixture.hpp"

namespace actorrun::test::rendezvous_generations_test {

using fixture = rendezvous_fixture;

// -- when a generation forms ------------------------------------------------------

TEST_CASE_METHOD(fixture, "rendezvous: the maximum forms a generation at once",
                 "[core]") {
  at(0s, join("a"));
  CHECK(at(1s, join("b")) == "accept_agent b; arm_timer 3; arm_timer 4");
  CHECK(uut.current_phase() == phase::last_call);
  CHECK(at(2s, join("c", 4))
        == "accept_agent c; announce_generation 1: a=0+1 b=1+1 c=2+4");
  CHECK(uut.current_phase() == phase::starting);
  CHECK(at(5s, fire(4)) == "");   // The quiet period and …
  CHECK(at(32s, fire(3)) == "");  // … the last call are over,
  CHECK(at(601s, fire(1)) == ""); // and so is the wait for the minimum.
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: a quiet period that is not needed ends at once",
                 "[core]") {
  at(0s, join("a"));
  at(0s, join("b"));
  at(2'500ms, join("c"));
  REQUIRE(uut.current_phase() == phase::starting);
  CHECK(at(3s, fire(4)) == "");
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: an abandoned last call does not hurry the next",
                 "[core]") {
  at(0s, join("a"));
  at(0s, join("b"));
  at(1s, left("b"));
  CHECK(at(30s, fire(3)) == "");
  CHECK(at(31s, join("b")) == "accept_agent b; arm_timer 6; arm_timer 7");
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: nor does it hurry one that waits for old workers",
                 "[core]") {
  run_two();
  at(4s, left("a"));
  at(4s, left("b"));
  at(5s, join("c"));
  REQUIRE(at(5s, join("d")) == "accept_agent d; arm_timer 6; arm_timer 7");
  at(6s, left("d"));
  auto plan = announced;
  plan.generation = {9};
  plan.own.agent = {"e"};
  REQUIRE(at(7s, rejoin("e", plan, share_state::running))
          == "accept_agent e; revoke_generation 9: e");
  CHECK(at(35s, fire(6)) == "");
  CHECK(at(36s, stopped("e", 9)) == "arm_timer 9; arm_timer 10");
}

TEST_CASE_METHOD(fixture, "rendezvous: a quiet period ends the last call",
                 "[core]") {
  at(0s, join("a"));
  at(1s, join("b"));
  CHECK(due(4) == 4s);
  CHECK(at(4s, fire(4)) == "announce_generation 1: a=0+1 b=1+1");
}

TEST_CASE("rendezvous: the quiet period begins at the latest arrival",
          "[core]") {
  auto x = fixture{{1, 9, 0}};
  x.at(0s, x.join("a"));
  CHECK(x.due(2) == 3s);
  x.at(1s, x.join("b"));
  x.at(2s, x.join("c"));
  CHECK(x.at(3s, x.fire(2)) == "arm_timer 4"); // One timer for all of them.
  CHECK(x.due(4) == 5s);
  CHECK(x.at(5s, x.fire(4)) == "announce_generation 1: a=0+1 b=1+1 c=2+1");
}

TEST_CASE("rendezvous: the last call ends even if agents keep coming",
          "[core]") {
  auto x = fixture{{1, 99, 0}};
  x.at(0s, x.join_here("a"));
  CHECK(x.due(1) == 30s);
  auto agents = std::string{" a=0+1"};
  for (int i = 1; i < 10; ++i) {
    x.at(i * 3s, x.join_here("a" + std::to_string(i)));
    agents += " a" + std::to_string(i) + "=" + std::to_string(i) + "+1";
  }
  CHECK(x.at(30s, x.fire(1)) == "announce_generation 1:" + agents);
}

TEST_CASE_METHOD(fixture, "rendezvous: a last call of too few is abandoned",
                 "[core]") {
  at(0s, join("a"));
  at(0s, join("b"));
  CHECK(at(1s, left("b")) == "forget_agent b; arm_timer 5");
  CHECK(uut.current_phase() == phase::gathering);
  CHECK(at(3s, fire(4)) == "");
  CHECK(at(20s, join("b")) == "accept_agent b; arm_timer 6; arm_timer 7");
  CHECK(at(30s, fire(3)) == ""); // It must not cut the next one short.
  CHECK(at(23s, fire(7)) == "announce_generation 1: a=0+1 b=1+1");
}

TEST_CASE_METHOD(fixture, "rendezvous: an abandoned quiet period stays so",
                 "[core]") {
  at(0s, join("a"));
  at(0s, join("b"));
  at(1s, left("a"));
  at(1s, left("b"));
  at(2s, join("c"));
  CHECK(at(3s, fire(4)) == ""); // It does not count c.
}

TEST_CASE_METHOD(fixture, "rendezvous: the minimum must come in time",
                 "[core]") {
  at(0s, join("a"));
  CHECK(at(600s, fire(1)) == "end_job unmet: a; arm_timer 3");
  CHECK(last<end_job>().result.reason
        == "only 1 of 2:3 nodes are here after 10 min 0 s");
}

TEST_CASE_METHOD(
  fixture,
  "rendezvous: before the first generation, the wait begins with an "
  "agent",
  "[core]") {
  at(0s, join("a"));
  at(1s, left("a"));
  CHECK(at(600s, fire(1)) == "");
  CHECK(at(700s, join("a")) == "accept_agent a; arm_timer 3");
  CHECK(due(3) == 1'300s);
}

TEST_CASE_METHOD(fixture, "rendezvous: a job whose agents have all gone ends",
                 "[core]") {
  for (const auto* name : {"a", "b", "c"})
    at(0s, join(name));
  for (const auto* name : {"a", "b", "c"}) {
    at(1s, stopped(name, 1));
    at(1s, left(name));
  }
  CHECK(uut.agents().empty());
  CHECK(at(601s, fire(5)) == "end_job unmet:; arm_timer 6; close_job");
  CHECK(last<end_job>().result.reason
        == "only 0 of 2:3 nodes are here after 10 min 0 s");
}

TEST_CASE_METHOD(fixture, "rendezvous: unknown timers are ignored", "[core]") {
  CHECK(at(0s, fire(0)) == "");
  CHECK(at(0s, fire(1)) == "");
  at(0s, join("a"));
  CHECK(at(600s, fire(0)) == "");
  CHECK(at(600s, fire(99)) == "");
}

// -- what a generation is ---------------------------------------------------------

TEST_CASE_METHOD(fixture, "rendezvous: each agent gets a plan of its own",
                 "[core]") {
  at(0s, join("b", 2));
  at(0s, join("a", 4));
  at(0s, join("c", 1));
  const auto& plans = last<announce_generation>().plans;
  REQUIRE(plans.size() == 3);
  for (size_t i = 0; i < 3; ++i) {
    CHECK(plans[i].generation == generation_id{1});
    CHECK(plans[i].own.node_rank == i);
    CHECK(plans[i].node_count == 3);
    CHECK(plans[i].world_size == 7);
    CHECK(plans[i].master_address == "address-a");
    CHECK(plans[i].master_port == 29500);
    CHECK(plans[i].restart_count == 0);
  }
  CHECK(plans[1].own
        == placement{.agent = {"b"},
                     .node_rank = 1,
                     .slot_count = 2,
                     .first_global_rank = 4,
                     .first_role_rank = 4,
                     .role_world_size = 7});
  CHECK(last<announce_generation>().reason.empty());
}

TEST_CASE("rendezvous: newcomers are ranked as people count hosts", "[core]") {
  auto x = fixture{{4, 4, 0}};
  x.at(0s, x.join("10"));
  x.at(0s, x.join("9"));
  x.at(0s, x.join("1"));
  CHECK(x.at(0s, x.join("2"))
          .ends_with("announce_generation 1: 1=0+1 2=1+1 9=2+1 "
                     "10=3+1"));
}

TEST_CASE("rendezvous: agents of one host are ranked by their names",
          "[core]") {
  auto x = fixture{{3, 3, 0}};
  for (const auto* agent : {"n-10", "n-2", "n-1"}) {
    auto joining = x.join(agent);
    joining.offering.host = "n";
    x.at(0s, joining);
  }
  CHECK(transcript(x.effects).ends_with(
    "announce_generation 1: n-1=0+1 n-2=1+1 n-10=2+1"));
}

TEST_CASE("rendezvous: the node of the coordinator comes first", "[core]") {
  auto x = fixture{{3, 3, 0}};
  x.at(0s, x.join("a"));
  x.at(0s, x.join("b"));
  CHECK(x.at(0s, x.join_here("z"))
          .ends_with("announce_generation 1: z=0+1 a=1+1 b=2+1"));
}

TEST_CASE_METHOD(fixture, "rendezvous: an agent that stays keeps its order",
                 "[core]") {
  run();
  at(1s, left("a"));
  at(1s, join("0")); // By its host it would be the first.
  at(1s, stopped("c", 1));
  CHECK(at(1s, stopped("b", 1)) == "announce_generation 2: 0=0+1 b=1+1 c=2+1");
}

TEST_CASE_METHOD(
  fixture, "rendezvous: a member of the last generation comes before a standby",
  "[core]") {
  run();
  at(1s, join("d"));
  at(1s, failed("c", 1));
  for (const auto* agent : {"a", "b", "c"})
    at(1s, stopped(agent, 1));
  CHECK(transcript(effects) == "announce_generation 2: a=0+1 b=1+1 c=2+1");
}

TEST_CASE_METHOD(fixture, "rendezvous: a standby takes a lost agent's place",
                 "[core]") {
  run();
  at(1s, join("e"));
  at(2s, join("d"));
  CHECK(at(3s, left("b")) == "forget_agent b; revoke_generation 1: a c");
  at(3s, stopped("a", 1));
  // The agent that has waited longer is in, whatever its host is called.
  CHECK(at(3s, stopped("c", 1)) == "announce_generation 2: a=0+1 e=1+1 c=2+1");
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: a fresh port is used in the next generation",
                 "[core]") {
  revoke();
  at(1s, stopped("a", 1, 31000));
  at(1s, stopped("b", 1, 32000));
  at(1s, stopped("c", 1));
  CHECK(last<announce_generation>().plans.front().master_port == 31000);
  CHECK(uut.agents().at({"c"}).offering.master_port == 29500);
}

TEST_CASE("rendezvous: a generation holds as many agents as allowed",
          "[core]") {
  auto x = fixture{{agents_per_generation_max, agents_per_generation_max, 0}};
  for (uint32_t i = 1; i < agents_per_generation_max; ++i)
    x.at(0s, x.join(std::to_string(i)));
  CHECK(x.uut.current_phase() == fixture::phase::gathering);
  x.at(0s, x.join("last"));
  CHECK(x.uut.member_count() == 100'000);
  CHECK(x.last<announce_generation>().plans.size() == 100'000);
  CHECK(x.at(0s, x.join("standby")) == "accept_agent standby");
}

} // namespace actorrun::test::rendezvous_generations_test
