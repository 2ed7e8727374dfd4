// Tests nodes with fixed ranks: the backend `static`.
#include "tests/support/rendezvous_fixture.hpp"

namespace actorrun::test::rendezvous_ranks_test {

namespace {

/// Three nodes of fixed ranks, two restarts.
struct fixture : rendezvous_fixture {
  fixture() : rendezvous_fixture{{3, 3, 2, true}} {}

  agent_joined join(const std::string& agent, uint32_t rank) const {
    auto x = rendezvous_fixture::join(agent);
    x.offering.node_rank = rank;
    return x;
  }

  agent_joined rejoin(const std::string& agent, uint32_t rank) const {
    auto x
      = rendezvous_fixture::rejoin(agent, plan_of(agent), share_state::running);
    x.offering.node_rank = rank;
    return x;
  }

  /// Generation 1 of `c`, `a` and `b`, in this order, workers running.
  void run() {
    at(0s, join("a", 1));
    at(0s, join("b", 2));
    REQUIRE(at(0s, join("c", 0))
              .ends_with("announce_generation 1: c=0+1 a=1+1 b=2+1"));
    for (const auto* agent : {"a", "b", "c"})
      at(0s, started(agent, 1));
    REQUIRE(uut.current_phase() == phase::running);
  }
};

} // namespace

TEST_CASE_METHOD(fixture, "rendezvous: nodes have the ranks that they ask for",
                 "[core]") {
  run();
  CHECK(uut.common_plan().master_address == "address-c");
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: with fixed ranks a failure restarts all "
                 "nodes, at their ranks",
                 "[core]") {
  run();
  CHECK(at(1s, failed("a", 1)) == "revoke_generation 1: a b c");
  at(2s, stopped("a", 1));
  at(2s, stopped("b", 1));
  CHECK(at(2s, stopped("c", 1)) == "announce_generation 2: c=0+1 a=1+1 b=2+1");
  CHECK(uut.budget().restart_count() == 1);
}

TEST_CASE_METHOD(fixture, "rendezvous: a rank is taken once", "[core]") {
  at(0s, join("a", 1));
  CHECK(at(0s, join("x", 1)) == "reject_agent x: duplicate_agent");
  CHECK(last<reject_agent>().text
        == "node rank 1 is taken: agent a on node-a has it");
  CHECK(uut.agents().size() == 1);
}

TEST_CASE_METHOD(fixture, "rendezvous: an agent does not stand in its own way",
                 "[core]") {
  at(0s, join("a", 1));
  CHECK(at(1s, join("a", 1)) == "accept_agent a"); // It has lost the answer.
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: an agent with workers is accepted although its "
                 "rank is taken, so that it stops them",
                 "[core]") {
  run();
  const auto back = rejoin("a", 1);
  at(1s, disconnect("a"));
  at(1s, lose("a"));
  at(1s, join("x", 1));
  CHECK(at(2s, back) == "accept_agent a; revoke_generation 1: a");
  CHECK(uut.agents().at({"a"}).shadowed);
}

TEST_CASE_METHOD(fixture, "rendezvous: a rank beyond the last is refused",
                 "[core]") {
  CHECK(at(0s, join("a", 2)).starts_with("accept_agent a"));
  CHECK(at(0s, join("b", 3)) == "reject_agent b: settings_mismatch");
  CHECK(last<reject_agent>().text == "agent b brings no node rank in 0..2");
  CHECK(at(0s, rendezvous_fixture::join("c"))
        == "reject_agent c: settings_mismatch");
}

TEST_CASE_METHOD(fixture, "rendezvous: a node of another backend is refused",
                 "[core]") {
  auto x = join("a", 0);
  x.settings.ranked = false;
  CHECK(at(0s, x) == "reject_agent a: settings_mismatch");
  CHECK(last<reject_agent>().text
        == "the job runs with --nnodes=3 --max-restarts=2"
           " --rdzv-backend=static, agent a asks for --nnodes=3"
           " --max-restarts=2 without --rdzv-backend=static");
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: a node that is started anew gets its "
                 "rank when the old agent is lost",
                 "[core]") {
  run();
  at(1s, disconnect("a"));
  CHECK(at(2s, join("x", 1)) == "accept_agent x");
  CHECK(uut.agents().at({"x"}).shadowed);
  CHECK(at(3s, lose("a")) == "forget_agent a; revoke_generation 1: b c");
  CHECK_FALSE(uut.agents().at({"x"}).shadowed);
  at(4s, stopped("b", 1));
  CHECK(at(4s, stopped("c", 1)) == "announce_generation 2: c=0+1 x=1+1 b=2+1");
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: a node that comes back keeps its rank, "
                 "though another waits for it",
                 "[core]") {
  run();
  at(1s, disconnect("a"));
  at(2s, join("x", 1));
  CHECK(at(3s, rejoin("a", 1)) == "accept_agent a");
  CHECK(uut.current_phase() == phase::running);
  CHECK(uut.agents().at({"x"}).shadowed);
  at(4s, failed("b", 1));
  for (const auto* agent : {"a", "b", "c"})
    at(5s, stopped(agent, 1));
  CHECK(transcript(effects) == "announce_generation 2: c=0+1 a=1+1 b=2+1");
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: of two agents that wait for a rank the "
                 "first gets it",
                 "[core]") {
  run();
  at(1s, disconnect("a"));
  at(2s, join("y", 1));
  at(2s, disconnect("y"));
  at(2s, join("x", 1));
  at(3s, lose("a"));
  CHECK_FALSE(uut.agents().at({"y"}).shadowed);
  CHECK(uut.agents().at({"x"}).shadowed);
  at(4s, lose("y"));
  CHECK_FALSE(uut.agents().at({"x"}).shadowed);
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: an agent may wait for a leaving node's rank",
                 "[core]") {
  run();
  at(1s, leaving("a", 15));
  CHECK(at(1s, join("x", 1)) == "accept_agent x");
  at(2s, stopped("a", 1));
  at(2s, stopped("b", 1));
  at(2s, stopped("c", 1));
  CHECK(uut.current_phase() == phase::gathering);
  CHECK(at(3s, left("a"))
        == "forget_agent a; announce_generation 2: c=0+1 x=1+1 b=2+1");
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: an excluded agent does not have a rank that "
                 "another can fill",
                 "[core]") {
  run();
  at(1s, disconnect("a"));
  at(2s, join("x", 1));
  at(2s, exclusion_requested{"node-x", "bob", "a bad disk"});
  at(3s, lose("a"));
  at(4s, stopped("b", 1));
  CHECK(at(4s, stopped("c", 1)) == "arm_timer 3");
  SECTION("the next one with that rank gets it") {
    CHECK(at(5s, join("y", 1))
          == "accept_agent y; announce_generation 2: c=0+1 y=1+1 b=2+1");
    at(6s, inclusion_requested{"node-x", "bob"});
    CHECK(uut.agents().at({"x"}).shadowed);
    CHECK_FALSE(uut.agents().at({"y"}).shadowed);
  }
  SECTION("unless it may take part again") {
    CHECK(at(5s, inclusion_requested{"node-x", "bob"})
            .find("announce_generation 2: c=0+1 x=1+1 b=2+1")
          != std::string::npos);
    at(6s, heard(6s, "x"));
    CHECK(at(6s, join("y", 1)) == "reject_agent y: duplicate_agent");
  }
}

} // namespace actorrun::test::rendezvous_ranks_test
