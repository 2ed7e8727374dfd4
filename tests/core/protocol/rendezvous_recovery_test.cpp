// Tests agents with workers that come back, or come from an earlier
// coordinator.
#include "tests/support/rendezvous_fixture.hpp"

namespace actorrun::test::rendezvous_recovery_test {

namespace {

/// An earlier coordinator's generation of `a` and `b`, after one restart.
generation_plan earlier_plan(const std::string& agent, uint64_t generation) {
  const auto node_rank = agent == "a" ? 0u : 1u;
  return {.generation = {generation},
          .own = {.agent = {agent},
                  .node_rank = node_rank,
                  .slot_count = 1,
                  .first_global_rank = node_rank,
                  .first_role_rank = node_rank,
                  .role_world_size = 2},
          .node_count = 2,
          .world_size = 2,
          .master_address = "address-a",
          .master_port = 29500,
          .restart_count = 1};
}

/// Two to three agents and two restarts; a successor that has just started.
struct successor : rendezvous_fixture {
  explicit successor(uint32_t agent_count_max = 3)
    : rendezvous_fixture{{2, agent_count_max, 2}} {
    REQUIRE(at(0s, coordinator_started{true}) == "arm_timer 1");
    REQUIRE(due(1) == 1'200ms); // Fenced workers are dead by then.
  }

  agent_joined back(const std::string& agent, uint64_t generation = 7,
                    share_state state = share_state::running) const {
    return rejoin(agent, earlier_plan(agent, generation), state);
  }
};

using fixture = rendezvous_fixture;

} // namespace

// -- claims that are not believed ---------------------------------------------

TEST_CASE_METHOD(successor,
                 "rendezvous: a claim fits the offer that it comes with",
                 "[core]") {
  auto x = back("b");
  x.held->plan.own.slot_count = 8;
  CHECK(at(0s, x) == "reject_agent b: bad_plan");
  CHECK(
    last<reject_agent>().text
    == "agent b claims workers, but the plan of generation 7 starts 8 workers "
       "where the node offers 1");
  CHECK(at(0s, back("b")) == "accept_agent b; arm_timer 2");
}

// -- a new coordinator --------------------------------------------------------

TEST_CASE_METHOD(successor,
                 "rendezvous: a successor adopts a running generation",
                 "[core]") {
  CHECK(at(0s, back("b")) == "accept_agent b; arm_timer 2");
  CHECK(uut.current_phase() == phase::gathering);
  CHECK(at(1s, back("a")) == "accept_agent a");
  CHECK(uut.current_phase() == phase::running);
  CHECK(uut.generation() == generation_id{7});
  CHECK(uut.member_count() == 2);
  CHECK(uut.budget().restart_count() == 1);
  CHECK(at(1'200ms, fire(1)) == "");
  CHECK(at(9s, succeeded("a", 7)) == "");
  CHECK(at(9s, succeeded("b", 7)) == "end_job succeeded: a b; arm_timer 3");
}

TEST_CASE(
  "rendezvous: a departure from a generation that was adopted counts for the "
  "back-off",
  "[core]") {
  auto x = rendezvous_fixture{{1, 2, 0}};
  x.at(0s, coordinator_started{true});
  for (const auto* agent : {"a", "b"})
    x.at(0s, x.rejoin(agent, earlier_plan(agent, 7), share_state::running));
  REQUIRE(x.uut.generation() == generation_id{7});
  // `b` comes and goes.
  for (const auto generation : {7, 9, 11}) {
    REQUIRE(x.uut.member_count() == 2);
    x.at(2s, x.left("b"));
    x.at(2s, x.stopped("a", uint64_t(generation)));
    x.at(2s, x.join_here("b"));
    if (generation != 11) // It may come in at once.
      x.at(2s, x.stopped("a", uint64_t(generation) + 1));
  }
  CHECK(x.uut.member_count() == 1);
  CHECK(x.uut.waiting_for({"b"}).find("nodes come and go")
        != std::string::npos);
}

TEST_CASE_METHOD(
  fixture,
  "rendezvous: a successor numbers its generations above those that "
  "no remaining agent may have seen",
  "[core]") {
  at(0s, coordinator_started{true, {2'000}});
  SECTION("no agent comes back") {
    at(0s, join("a"));
    at(0s, join("b"));
    at(0s, join("c"));
    at(1'200ms, fire(1));
    CHECK(uut.generation() == generation_id{2'001});
  }
  SECTION("agents come back with stopped workers") {
    for (const auto* agent : {"a", "b"})
      at(0s, rejoin(agent, earlier_plan(agent, 7), share_state::idle));
    at(0s, join("c"));
    at(1'200ms, fire(1));
    CHECK(uut.generation() == generation_id{2'001});
  }
  SECTION("agents come back with running workers") {
    at(0s, rejoin("a", earlier_plan("a", 7), share_state::running));
    at(0s, join("c"));
    at(1'200ms, fire(1));
    CHECK(uut.generation() == generation_id{7});
    at(1'300ms, stopped("a", 7)); // One may lie.
    CHECK(uut.generation() == generation_id{2'001});
  }
}

TEST_CASE_METHOD(successor,
                 "rendezvous: a successor adopts a starting generation",
                 "[core]") {
  at(0s, back("a", 7, share_state::running));
  at(0s, back("b", 7, share_state::starting));
  CHECK(uut.current_phase() == phase::starting);
  at(1s, started("b", 7));
  CHECK(uut.current_phase() == phase::running);
}

TEST_CASE_METHOD(successor,
                 "rendezvous: an adopted generation is like any other",
                 "[core]") {
  at(0s, back("a"));
  at(0s, back("b"));
  CHECK(at(2s, failed("a", 7)) == "revoke_generation 7: a b");
  at(2s, stopped("a", 7));
  CHECK(at(2s, stopped("b", 7)) == "announce_generation 8: a=0+1 b=1+1");
  CHECK(last<announce_generation>().plans.front().restart_count == 2);
}

TEST_CASE_METHOD(
  successor, "rendezvous: an adopted generation whose size fits is no resize",
  "[core]") {
  at(0s, back("a"));
  at(0s, back("b"));
  auto other = join("c");
  other.settings.agent_count_max = 2;
  CHECK(at(1s, other) == "reject_agent c: settings_mismatch");
}

TEST_CASE_METHOD(successor,
                 "rendezvous: a plan of an adopted generation is resent",
                 "[core]") {
  at(0s, back("a"));
  at(0s, back("b", 7, share_state::starting));
  at(0s, disconnect("b"));
  CHECK(at(0s, join("b")) == "accept_agent b; announce_generation 7: b=1+1");
  CHECK(last<announce_generation>().plans.front() == earlier_plan("b", 7));
}

TEST_CASE_METHOD(successor,
                 "rendezvous: the absence of a member ends the generation",
                 "[core]") {
  at(0s, back("a"));
  at(1s, heard(1s, "a"));
  CHECK(at(1'200ms, fire(1)) == "revoke_generation 7: a");
  CHECK(last<revoke_generation>().reason.text
        == "1 of 2 agents of generation 7 came back to the new coordinator");
  CHECK(at(2s, join("c")) == "accept_agent c");
  CHECK(at(2s, stopped("a", 7)) == "announce_generation 8: a=0+1 c=1+1");
  CHECK(uut.budget().restart_count() == 1);
}

TEST_CASE_METHOD(successor,
                 "rendezvous: a successor without claims begins anew",
                 "[core]") {
  CHECK(at(0s, join("a")) == "accept_agent a; arm_timer 2");
  CHECK(at(0s, join("b")) == "accept_agent b");
  CHECK(at(0s, join("c")) == "accept_agent c"); // Still recovering.
  CHECK(at(1'200ms, fire(1)) == "announce_generation 1: a=0+1 b=1+1 c=2+1");
}

TEST_CASE_METHOD(successor, "rendezvous: it waits for the minimum afterwards",
                 "[core]") {
  CHECK(at(1'200ms, fire(1)) == "");
  CHECK(at(2s, join("a")) == "accept_agent a; arm_timer 2; arm_timer 3");
  CHECK(due(2) == 602s);
}

TEST_CASE_METHOD(successor, "rendezvous: the newest generation may go on",
                 "[core]") {
  CHECK(at(0s, back("b", 6)) == "accept_agent b; arm_timer 2");
  CHECK(at(0s, back("a", 7)) == "accept_agent a");
  CHECK(at(1s, back("c", 5)) == "accept_agent c"); // Not for one's word.
  CHECK(at(1'200ms, fire(1))
        == "revoke_generation 6: b; revoke_generation 5: c; revoke_generation "
           "7: a");
  CHECK(at(2s, stopped("b", 6)) == "");
  CHECK(at(2s, stopped("c", 5)) == "");
  CHECK(at(2s, stopped("a", 7)) == "announce_generation 8: a=0+1 b=1+1 c=2+1");
}

TEST_CASE("rendezvous: an older generation does not stop a newer one",
          "[core]") {
  auto x = successor{5};
  x.at(0s, x.back("c", 6));
  x.at(0s, x.back("b", 7));
  CHECK(x.at(0s, x.back("a", 7))
        == "accept_agent a; revoke_generation 6: c; arm_timer 3");
  CHECK(x.last<revoke_generation>().reason.text == "the generation is over");
  CHECK(x.uut.current_phase() == successor::phase::running);
  CHECK(x.uut.generation() == generation_id{7});
  CHECK(x.due(3) == 1s); // Like any joiner it becomes a member soon.
}

TEST_CASE_METHOD(successor,
                 "rendezvous: without running workers it waits for more claims",
                 "[core]") {
  at(0s, back("b", 7, share_state::succeeded));
  CHECK(at(0s, back("a", 7, share_state::succeeded)) == "accept_agent a");
  CHECK(uut.current_phase()
        == phase::gathering); // There may be a generation 8.
  CHECK(at(1'200ms, fire(1)) == "end_job succeeded: a b; arm_timer 3");
}

TEST_CASE_METHOD(successor,
                 "rendezvous: an agent that has succeeded is back, too",
                 "[core]") {
  at(0s, back("b", 7, share_state::succeeded));
  CHECK(at(0s, back("a")) == "accept_agent a");
  CHECK(uut.current_phase() == phase::running);
  CHECK(at(1s, succeeded("a", 7)) == "end_job succeeded: a b; arm_timer 3");
}

TEST_CASE("rendezvous: an agent that is about to stop must start again",
          "[core]") {
  struct row {
    share_state state;
    std::string answer;
  };
  const row rows[] = {
    {share_state::idle, "accept_agent a; revoke_generation 7: a"},
    {share_state::stopping, "accept_agent a; revoke_generation 7: a b"},
  };
  for (const auto& [state, answer] : rows) {
    CAPTURE(to_string(state));
    auto x = successor{};
    x.at(0s, x.back("b", 7, state));
    CHECK(x.at(0s, x.back("a")) == answer);
    CHECK(x.last<revoke_generation>().reason.text
          == "1 of 2 agents of generation 7 came back to the new coordinator "
             "without "
             "their workers");
    x.at(2s, x.stopped("b", 7));
    CHECK(x.at(2s, x.stopped("a", 7)) == "announce_generation 8: a=0+1 b=1+1");
  }
}

TEST_CASE("rendezvous: a failure of an older generation is not the newer one's",
          "[core]") {
  auto x = successor{5};
  x.at(0s, x.back("b", 6));
  x.at(0s, x.failed("b", 6));
  x.at(0s, x.back("a", 7));
  CHECK(x.at(0s, x.back("c", 7))
        == "accept_agent c; revoke_generation 6: b; arm_timer 3");
  CHECK(x.uut.current_phase() == successor::phase::running);
}

TEST_CASE_METHOD(successor,
                 "rendezvous: workers that stop while it listens do not go on",
                 "[core]") {
  at(0s, back("a"));
  at(0s, stopped("a", 7));
  CHECK(at(1s, back("b")) == "accept_agent b; revoke_generation 7: b");
}

TEST_CASE_METHOD(successor, "rendezvous: the end of a recovery comes once",
                 "[core]") {
  at(0s, back("a"));
  at(0s, back("b"));
  REQUIRE(at(1s, failed("a", 7)) == "revoke_generation 7: a b");
  CHECK(at(1'200ms, fire(1)) == "");
  CHECK(uut.current_phase() == phase::stopping);
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: an adopted generation does not await the minimum",
                 "[core]") {
  at(0s, join("c"));
  at(0s, disconnect("c"));
  at(1s, rejoin("a", earlier_plan("a", 7), share_state::running));
  at(1s, rejoin("b", earlier_plan("b", 7), share_state::running));
  REQUIRE(uut.current_phase() == phase::running);
  CHECK(at(600s, fire(1)) == "");
}

TEST_CASE_METHOD(successor,
                 "rendezvous: a failure that is reported while it listens is "
                 "as old as it was then",
                 "[core]") {
  at(0s, back("a"));
  at(100ms, failed("a", 7));
  auto other = back("b", 7, share_state::failed);
  other.held->failure->age = 50ms;
  at(120ms, other);
  CHECK(at(1'200ms, fire(1)) == "revoke_generation 7: a b");
  CHECK(uut.last_failure()->agent == agent_id{"b"});
}

TEST_CASE_METHOD(successor,
                 "rendezvous: failures that are reported while it listens "
                 "count, whoever comes back after them",
                 "[core]") {
  at(0s, back("a"));
  at(0s, failed("a", 7));
  auto other = failure_of("a");
  other.local_rank = 3;
  at(0s, workers_stopped{{"a"}, {7}, 0, {{other}, 0}});
  CHECK(at(1s, back("b")) == "accept_agent b; revoke_generation 7: b");
  CHECK(at(2s, stopped("b", 7))
        == "explain_failures 7: a/0 +1; announce_generation 8: a=0+1 b=1+1");
}

TEST_CASE(
  "rendezvous: of two generations with one number the one that runs goes on",
  "[core]") {
  auto x = rendezvous_fixture{{1, 3, 2}};
  x.at(0s, coordinator_started{true});
  auto rival = x.rejoin("b", earlier_plan("b", 7), share_state::running);
  rival.held->plan.node_count = 1;
  rival.held->plan.world_size = 1;
  rival.held->plan.own
    = {.agent = {"b"}, .slot_count = 1, .role_world_size = 1};
  x.at(0s, x.rejoin("a", earlier_plan("a", 7), share_state::stopping));
  CHECK(x.at(0s, rival)
        == "accept_agent b; revoke_generation 7: a; arm_timer 3");
  CHECK(x.last<revoke_generation>().reason.text == "the generation is over");
  CHECK(x.uut.current_phase() == rendezvous::phase::running);
  CHECK(x.uut.common_plan().world_size == 1);
  CHECK(x.uut.member_count() == 1);
  CHECK(x.at(1ms, x.stopped("a", 7)) == ""); // That was the other one.
}

TEST_CASE_METHOD(successor,
                 "rendezvous: a stopping generation does not compete",
                 "[core]") {
  auto rival = back("a", 7, share_state::stopping);
  rival.held->plan.node_count = 1;
  rival.held->plan.world_size = 1;
  rival.held->plan.own.role_world_size = 1;
  at(0s, back("b"));
  CHECK(at(0s, rival) == "accept_agent a");
  CHECK(uut.member_count() == 1);
  CHECK(uut.common_plan().world_size == 2);
  CHECK(
    at(1'200ms, fire(1))
    == "revoke_generation 7: a; revoke_generation 7: a b"); // Twice is harmless.
  CHECK(std::get<revoke_generation>(effects.back()).reason.text
        == "1 of 2 agents of generation 7 came back to the new coordinator");
}

TEST_CASE_METHOD(
  successor,
  "rendezvous: a failure that was claimed counts though its agent "
  "has left",
  "[core]") {
  at(0s, back("a", 7, share_state::failed));
  at(0s, stopped("a", 7));
  at(0s, left("a"));
  at(1s, back("b"));
  CHECK(at(1'200ms, fire(1)) == "revoke_generation 7: b");
  CHECK(last<revoke_generation>().failure == failure_of("a"));
  CHECK(at(1'200ms, stopped("b", 7)) == "arm_timer 3");
  CHECK(uut.budget().restart_count() == 2); // The claim spoke of one.
}

TEST_CASE_METHOD(successor,
                 "rendezvous: a failure that was not answered is answered",
                 "[core]") {
  at(0s, back("a", 7, share_state::failed));
  CHECK(at(0s, back("b")) == "accept_agent b; revoke_generation 7: a b");
  CHECK(last<revoke_generation>().failure == failure_of("a"));
  at(2s, stopped("a", 7));
  CHECK(at(2s, stopped("b", 7)) == "announce_generation 8: a=0+1 b=1+1");
  CHECK(uut.budget().restart_count() == 2);
}

TEST_CASE_METHOD(successor,
                 "rendezvous: an agent that comes back too late is stopped",
                 "[core]") {
  for (const auto* agent : {"c", "d", "e"})
    at(0s, join(agent));
  REQUIRE(at(1'200ms, fire(1)) == "announce_generation 1: c=0+1 d=1+1 e=2+1");
  CHECK(at(2s, back("a")) == "accept_agent a; revoke_generation 7: a");
  CHECK(last<revoke_generation>().reason.text == "the generation is over");
  CHECK(uut.current_phase() == phase::starting);
  // No generation starts while its workers may run, and generations only grow.
  at(3s, left("c"));
  at(3s, stopped("d", 1));
  CHECK(at(3s, stopped("e", 1)) == "");
  CHECK(uut.waiting_for()
        == "1 node stops its workers of generation 1 (agent c left)");
  CHECK(at(4s, stopped("a", 7)) == "announce_generation 8: a=0+1 d=1+1 e=2+1");
  CHECK(last<announce_generation>().plans.front().restart_count == 1);
}

TEST_CASE_METHOD(
  successor,
  "rendezvous: what failed in a generation that is over is not the "
  "running one's",
  "[core]") {
  for (const auto* agent : {"c", "d", "e"})
    at(0s, join(agent));
  REQUIRE(at(1'200ms, fire(1)) == "announce_generation 1: c=0+1 d=1+1 e=2+1");
  at(2s, back("a"));
  auto old = failure_of("a");
  old.age = 1s;
  at(2s, workers_stopped{{"a"}, {7}, 0, {{old}, 0}});
  at(3s, failed("d", 1));
  CHECK(uut.last_failure()->agent == agent_id{"d"});
}

TEST_CASE_METHOD(
  fixture, "rendezvous: a claim makes any new coordinator wait for others",
  "[core]") {
  CHECK(at(0s, rejoin("a", earlier_plan("a", 7), share_state::running))
        == "accept_agent a; arm_timer 1; arm_timer 2");
  CHECK(due(1) == 1'200ms);
  CHECK(uut.waiting_for() == "listening for agents of an earlier coordinator");
  CHECK(at(0s, rejoin("b", earlier_plan("b", 7), share_state::running))
        == "accept_agent b");
  CHECK(uut.current_phase() == phase::running);
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: an ordinary start does not wait for claims",
                 "[core]") {
  CHECK(at(0s, coordinator_started{false}) == "");
}

TEST_CASE_METHOD(
  fixture,
  "rendezvous: an ordinary start, too, numbers its generations above "
  "those that it may not know",
  "[core]") {
  at(0s, coordinator_started{false, {2'000}});
  CHECK(uut.highest_number() == generation_id{2'000});
  for (const auto* agent : {"a", "b", "c"})
    at(0s, join(agent));
  CHECK(uut.generation() == generation_id{2'001});
}

TEST_CASE_METHOD(fixture, "rendezvous: claims end a last call", "[core]") {
  at(0s, join("c"));
  at(0s, join("d"));
  REQUIRE(uut.current_phase() == phase::last_call);
  CHECK(at(1s, rejoin("a", earlier_plan("a", 7), share_state::running))
        == "accept_agent a; arm_timer 5");
  CHECK(uut.current_phase() == phase::gathering);
  CHECK(uut.waiting_for() == "listening for agents of an earlier coordinator");
  CHECK(at(1s, rejoin("b", earlier_plan("b", 7), share_state::running))
        == "accept_agent b; revoke_generation 7: a b"); // c and d wait.
  CHECK(last<revoke_generation>().reason.text == "2 more joined");
  CHECK(at(3s, fire(4)) == "");
}

// -- a broken link ------------------------------------------------------------

TEST_CASE("rendezvous: a member that comes back goes on where it is",
          "[core]") {
  struct row {
    share_state state;
    std::string answer;
    fixture::phase then;
  };
  using phase = fixture::phase;
  const row rows[] = {
    {share_state::starting, "accept_agent b", phase::running},
    {share_state::running, "accept_agent b", phase::running},
    {share_state::succeeded, "accept_agent b", phase::running},
    {share_state::failed, "accept_agent b; revoke_generation 1: a b c",
     phase::stopping},
    {share_state::idle, "accept_agent b; revoke_generation 1: a c",
     phase::stopping},
    {share_state::stopping, "accept_agent b; revoke_generation 1: a b c",
     phase::stopping},
  };
  for (const auto& x : rows) {
    CAPTURE(to_string(x.state));
    auto job = fixture{};
    job.run();
    job.at(0s, job.disconnect("b"));
    CHECK(job.at(1s, job.rejoin("b", job.plan_of("b"), x.state)) == x.answer);
    CHECK(job.uut.current_phase() == x.then);
    if (x.state == share_state::stopping)
      CHECK(job.last<revoke_generation>().reason.text
            == "agent b stops its workers, out of touch");
  }
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: a claim contains what happened without a link",
                 "[core]") {
  start();
  at(0s, disconnect("b"));
  at(0s, started("a", 1));
  at(0s, started("c", 1));
  at(1s, rejoin("b", plan_of("b"), share_state::running));
  CHECK(uut.current_phase() == phase::running);
  at(2s, disconnect("b"));
  at(2s, succeeded("a", 1));
  at(2s, succeeded("c", 1));
  CHECK(at(3s, rejoin("b", plan_of("b"), share_state::succeeded))
        == "accept_agent b; end_job succeeded: a b c; arm_timer 5");
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: an agent that missed its plan gets it again",
                 "[core]") {
  start();
  const auto plan = plan_of("b");
  at(0s, disconnect("b"));
  CHECK(at(0s, join("b")) == "accept_agent b; announce_generation 1: b=1+1");
  CHECK(last<announce_generation>().plans.front() == plan);
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: an agent that has an older plan gets the new one",
                 "[core]") {
  revoke();
  const auto old = plan_of("b");
  for (const auto* agent : {"a", "b", "c"})
    at(0s, stopped(agent, 1));
  at(0s, disconnect("b"));
  CHECK(at(0s, rejoin("b", old, share_state::idle))
        == "accept_agent b; announce_generation 2: b=1+1");
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: a failure without details is a failure, too",
                 "[core]") {
  run();
  auto back = rejoin("b", plan_of("b"), share_state::failed);
  back.held->failure.reset();
  CHECK(at(1s, back) == "accept_agent b; revoke_generation 1: a b c");
  CHECK(uut.last_failure()->agent == agent_id{"b"});
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: a failure of an older generation that is claimed "
                 "again costs nothing",
                 "[core]") {
  revoke();
  const auto old = plan_of("b");
  for (const auto* agent : {"a", "b", "c"})
    at(0s, stopped(agent, 1));
  REQUIRE(uut.generation() == generation_id{2});
  at(0s, disconnect("b"));
  at(1s, failed("a", 2));
  CHECK(at(2s, rejoin("b", old, share_state::failed))
        == "accept_agent b; revoke_generation 2: b");
  for (const auto* agent : {"a", "b", "c"})
    at(2s, stopped(agent, 2));
  CHECK(transcript(effects) == "end_job failed: a b c; arm_timer 5");
  CHECK(uut.result()->other_failures.empty());
}

TEST_CASE_METHOD(
  fixture, "rendezvous: an agent that missed the revocation gets it again",
  "[core]") {
  run();
  at(0s, disconnect("b"));
  REQUIRE(at(0s, failed("a", 1)) == "revoke_generation 1: a b c");
  CHECK(at(1s, rejoin("b", plan_of("b"), share_state::running))
        == "accept_agent b; revoke_generation 1: b");
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: an agent that was declared lost is stopped first",
                 "[core]") {
  run();
  const auto old = plan_of("b");
  at(0s, disconnect("b"));
  at(1'300ms, heard(1'300ms, "a"));
  at(1'300ms, heard(1'300ms, "c"));
  REQUIRE(
    at(1'300ms, fire(2)).starts_with("forget_agent b; revoke_generation 1"));
  at(2s, stopped("a", 1));
  REQUIRE(at(2s, stopped("c", 1)) == "announce_generation 2: a=0+1 c=1+1");
  CHECK(at(2s, rejoin("b", old, share_state::running))
        == "accept_agent b; revoke_generation 1: b; revoke_generation 2: a c");
  at(3s, stopped("a", 2));
  CHECK(at(3s, stopped("c", 2)) == "");
  CHECK(at(4s, stopped("b", 1)) == "announce_generation 3: a=0+1 c=1+1 b=2+1");
}

TEST_CASE("rendezvous: an older generation without workers needs no revocation",
          "[core]") {
  for (const auto state : {share_state::idle, share_state::succeeded}) {
    auto job = fixture{};
    job.run();
    CHECK(job.at(0s, job.rejoin("d", earlier_plan("d", 9), state))
            .starts_with("accept_agent "));
    CHECK(job.effects.size() == 1);
  }
}

TEST_CASE_METHOD(successor,
                 "rendezvous: an agent that leaves while a successor listens "
                 "ends the generation",
                 "[core]") {
  at(0s, back("a"));
  CHECK(at(1ms, leaving("a")) == "");
  CHECK(at(2ms, back("b")) == "accept_agent b; revoke_generation 7: a b");
  CHECK(
    last<revoke_generation>().reason.text
    == "1 of 2 agents of generation 7 came back to the new coordinator without "
       "their workers");
}

} // namespace actorrun::test::rendezvous_recovery_test
