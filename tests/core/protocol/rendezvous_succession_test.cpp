// Tests what a successor believes: of claims, of what agents were told, and of what
// an earlier coordinator has left behind.
#include "tests/support/rendezvous_fixture.hpp"

namespace actorrun::test::rendezvous_succession_test {

namespace {

/// A generation of an earlier coordinator, of so many nodes.
generation_plan earlier_plan(const std::string& agent, uint64_t generation,
                             uint32_t node_rank, uint32_t node_count = 2) {
  return {.generation = {generation},
          .own = {.agent = {agent},
                  .node_rank = node_rank,
                  .slot_count = 1,
                  .first_global_rank = node_rank,
                  .first_role_rank = node_rank,
                  .role_world_size = node_count},
          .node_count = node_count,
          .world_size = node_count,
          .master_address = "address-a",
          .master_port = 29500};
}

struct fixture : rendezvous_fixture {
  using rendezvous_fixture::rendezvous_fixture;

  /// It comes back with its share of generation 7.
  agent_joined back(const std::string& agent, uint32_t node_rank,
                    share_state state = share_state::running,
                    uint32_t node_count = 2, uint64_t generation = 7) const {
    return rejoin(agent, earlier_plan(agent, generation, node_rank, node_count),
                  state);
  }

  /// What a coordinator has told of this job.
  charter job(uint64_t revision = 5) const {
    return {.revision = revision, .settings = settings, .lease = 1'200ms};
  }

  agent_joined told(agent_joined x, charter what) const {
    x.told = std::move(what);
    return x;
  }
};

/// Two to three nodes, two restarts; it has just started.
struct successor : fixture {
  explicit successor(job_settings asked = {2, 3, 2}) : fixture{asked} {
    REQUIRE(at(0s, coordinator_started{true}) == "arm_timer 1");
  }
};

} // namespace

// -- the hold-back --------------------------------------------------------------

TEST_CASE_METHOD(successor,
                 "rendezvous: V1 a successor holds back for the longest lease "
                 "that an agent was told of",
                 "[core]") {
  auto known = job();
  known.lease = 15'300ms;
  CHECK(at(1s, told(join("a"), known))
        == "arm_timer 2; accept_agent a; arm_timer 3");
  CHECK(due(2) == 15'300ms); // From its beginning.
  at(1s, join("b"));
  at(1s, join("c"));
  CHECK(uut.waiting_for() == "listening for agents of an earlier coordinator");
  CHECK(at(1'200ms, fire(1)) == "");
  CHECK(uut.job().lease == 15'300ms);
  CHECK(
    at(15'300ms, fire(2)) // What one has told alone does not count any more.
    == "announce_generation 1: a=0+1 b=1+1 c=2+1; tell_charter: a b c");
  CHECK(uut.job().lease == 1'200ms); // All older leases have ended.
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: V1 a successor holds back for the lease that its "
                 "predecessor has left",
                 "[core]") {
  at(0s, coordinator_started{.successor = true, .known = {.lease = 9s}});
  CHECK(due(1) == 9s);
  for (const auto* agent : {"a", "b", "c"})
    at(0s, join(agent));
  CHECK(uut.generation() == generation_id{});
  CHECK(at(9s, fire(1)) == "announce_generation 1: a=0+1 b=1+1 c=2+1");
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: the lease counts from when its predecessor may "
                 "have granted one",
                 "[core]") {
  SECTION("which is a promise ago") {
    CHECK(at(5s, coordinator_started{.successor = true, .silence = 360ms})
          == "arm_timer 1");
    CHECK(due(1) == 5'840ms);
    auto known = job();
    known.lease = 3s; // And so does another one.
    at(5'100ms, told(join("a"), known));
    CHECK(due(2) == 7'640ms);
  }
  SECTION("and may be over") {
    CHECK(at(5s, coordinator_started{.successor = true, .silence = 1'200ms})
          == "arm_timer 1");
    CHECK(due(1) == 5s);
    CHECK(at(5s, fire(1)) == "");
    CHECK(uut.waiting_for()
          == "waiting for 2 more nodes: 0 of 2:3 nodes are here");
  }
}

TEST_CASE_METHOD(successor,
                 "rendezvous: V1 no lease that is claimed is longer than there "
                 "can be",
                 "[core]") {
  auto known = job();
  known.lease = std::chrono::hours{5};
  at(1s, told(join("a"), known));
  CHECK(due(2) == lease_max);
}

// A majority has stored it before anyone saw it. The agents may have missed an order whose
// operator has the answer: the leader's host was lost just then.
TEST_CASE_METHOD(
  fixture,
  "rendezvous: S6 what voters have stored counts, whatever agents "
  "were told before",
  "[core]") {
  auto stored = job(5);
  stored.settings.agent_count_min = 2;
  stored.settings.agent_count_max = 2;
  stored.is_resized = true;
  stored.restart_count = 1;
  stored.excluded = {{"host-x", "a bad disk", "bob"}};
  stored.drains = {{{"b"}, "alice", 5s}};
  stored.leader_group = 3;
  at(0s, coordinator_started{
           .successor = true, .known = stored, .is_proved = true});
  CHECK(uut.settings().agent_count_max == 2);
  REQUIRE(uut.waiting_drains().size() == 1);
  CHECK(uut.waiting_drains().front().agent == agent_id{"b"});
  auto before = job(4);
  before.excluded = {{"host-y", "old", "bob"}};
  at(1s, told(join("a"), before));
  at(1s, told(join("b"), before));
  CHECK(uut.settings().agent_count_min == 2);
  CHECK(uut.settings().agent_count_max == 2);
  CHECK(uut.budget().restart_count() == 1);
  REQUIRE(uut.excluded_hosts().size() == 1);
  CHECK(uut.excluded_hosts().front().host == "host-x");
  CHECK(uut.job().leader_group == 0); // That was the last leader's.
}

// Of the generation that the last leader's charter names, one agent need not come back.
TEST_CASE_METHOD(successor,
                 "rendezvous: a member that is proved to have ended is not "
                 "waited for",
                 "[core]") {
  const auto ended = member_ended{{"a"}, {7}, 3};
  const auto running = share_state::running;
  SECTION("the proof comes first") {
    CHECK(at(0ms, ended) == "");
    at(10ms, back("b", 1, running, 3));
    CHECK(uut.current_phase() == phase::gathering);
    at(20ms, back("c", 2, running, 3));
  }
  SECTION("the proof comes last") {
    at(0ms, back("b", 1, running, 3));
    at(10ms, back("c", 2, running, 3));
    CHECK(uut.current_phase() == phase::gathering);
    at(20ms, ended);
  }
  REQUIRE(uut.current_phase() == phase::stopping);
  at(30ms, stopped("b", 7));
  CHECK(at(30ms, stopped("c", 7)) // No hold-back any more.
        == "announce_generation 8: b=0+1 c=1+1");
  CHECK(uut.budget().restart_count() == 0);
}

TEST_CASE_METHOD(successor,
                 "rendezvous: no proof accounts for a member of another "
                 "generation, nor for two",
                 "[core]") {
  const auto running = share_state::running;
  SECTION("another number") {
    at(0ms, member_ended{{"a"}, {6}, 3});
  }
  SECTION("another number of nodes, as one that lies may claim") {
    at(0ms, member_ended{{"a"}, {7}, 4});
  }
  at(10ms, back("b", 1, running, 3));
  at(20ms, back("c", 2, running, 3));
  CHECK(uut.current_phase() == phase::gathering);
}

TEST_CASE_METHOD(successor,
                 "rendezvous: who listens no more needs no proof of an end",
                 "[core]") {
  at(0s, back("a", 0));
  at(100ms, back("b", 1));
  REQUIRE(uut.current_phase() == phase::running);
  CHECK(at(200ms, member_ended{{"c"}, {7}, 3}) == "");
  CHECK(uut.current_phase() == phase::running);
}

TEST_CASE_METHOD(
  successor,
  "rendezvous: S3 a generation that goes on early is followed by no "
  "other before the hold-back has ended",
  "[core]") {
  at(0s, back("a", 0));
  at(100ms, back("b", 1));
  REQUIRE(uut.current_phase() == phase::running);
  at(200ms, left("b"));
  at(300ms, join("c"));
  at(300ms, stopped("a", 7));
  CHECK(uut.current_phase() == phase::gathering);
  CHECK(uut.waiting_for() == "listening for agents of an earlier coordinator");
  const auto alarm = armed.rbegin()->first;
  CHECK(due(alarm) == 1'200ms);
  CHECK(at(1'200ms, fire(alarm)) == "announce_generation 8: a=0+1 c=1+1");
}

TEST_CASE_METHOD(
  successor,
  "rendezvous: S3 one agent's word ends neither the hold-back nor "
  "another's workers",
  "[core]") {
  at(0s, back("a", 0)); // With b, which is silent.
  // It lies: a generation of one node is none of this job.
  CHECK(at(10ms, back("x", 0, share_state::running, 1, 8)) == "accept_agent x");
  CHECK(uut.current_phase() == phase::gathering);
  CHECK(at(20ms, left("x")) == "forget_agent x");
  CHECK(at(30ms, back("b", 1)) == "accept_agent b");
  CHECK(uut.current_phase() == phase::running);
  CHECK(uut.generation() == generation_id{7});
}

TEST_CASE(
  "rendezvous: S3 what all agents of a generation say outweighs a newer one "
  "that some claim",
  "[core]") {
  auto x = successor{{1, 2, 2}};
  // With another that does not exist.
  CHECK(x.at(0s, x.back("x", 0, share_state::idle, 2, 9))
        == "accept_agent x; arm_timer 2");
  CHECK(x.at(1ms, x.back("a", 0)) == "accept_agent a");
  CHECK(x.at(2ms, x.back("b", 1)) == "accept_agent b");
  CHECK(x.uut.generation() == generation_id{7});
  CHECK(x.uut.current_phase() == successor::phase::running);
}

// -- success ---------------------------------------------------------------------

TEST_CASE_METHOD(
  successor,
  "rendezvous: S1 a job does not succeed by the word of one agent "
  "that names too few nodes",
  "[core]") {
  at(0s, back("a", 0));
  CHECK(at(0s, back("x", 0, share_state::succeeded, 1, 8)) == "accept_agent x");
  CHECK(at(1'200ms, fire(1)) == "revoke_generation 7: a");
  CHECK_FALSE(uut.result());
}

TEST_CASE("rendezvous: S1 a success that workers of another contradict is none",
          "[core]") {
  auto x = successor{{1, 3, 2}};
  x.at(0s, x.back("a", 0));
  x.at(0s, x.back("x", 0, share_state::succeeded, 1, 8));
  CHECK(x.at(1'200ms, x.fire(1)) == "revoke_generation 7: a");
  CHECK_FALSE(x.uut.result());
  CHECK(x.at(1'300ms, x.stopped("a", 7))
        == "arm_timer 3; arm_timer 4"); // The last call.
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: S1 a coordinator that is proved to be the first "
                 "takes no claim, and holds back once",
                 "[core]") {
  at(0s, coordinator_started{false});
  CHECK(at(0s, back("x", 0, share_state::succeeded, 2))
        == "reject_agent x: job_over");
  CHECK(uut.generation() == generation_id{});
  at(0s, join("x"));
  at(0s, join("y"));
  CHECK(at(1s, back("z", 0, share_state::running, 1))
        == "accept_agent z; arm_timer 5; revoke_generation 7: z");
  at(1s, stopped("z", 7));
  // Who has removed the proof of a predecessor may be wrong about it.
  CHECK(uut.waiting_for() == "listening for agents of an earlier coordinator");
  CHECK(at(due(5), fire(5)).starts_with("announce_generation 8: "));
  // What has succeeded here counts: a link may break then.
  const auto plan = earlier_plan("x", 8, 0, 3);
  CHECK_FALSE(at(2s, rejoin("x", plan, share_state::succeeded))
                .starts_with("reject_agent"));
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: N7 what has succeeded in a job that has ended is "
                 "not run again in the next one of its id",
                 "[core]") {
  at(0s, coordinator_started{false});
  at(0s, join("a"));
  at(0s, join("b"));
  CHECK(at(0s, join("c")).find("announce_generation 1:") != std::string::npos);
  CHECK(at(1s, back("x", 0, share_state::succeeded, 2, 0))
          .starts_with("reject_agent x: "));
}

TEST_CASE_METHOD(successor,
                 "rendezvous: N7 what may have succeeded is not run again",
                 "[core]") {
  at(0s, back("b", 1, share_state::succeeded));
  at(0s, join("c"));
  CHECK(at(1'200ms, fire(1)) == "end_job unmet: b c; arm_timer 3");
  CHECK(
    uut.result()->reason
    == "the workers of generation 7 on 1 of 2 nodes have succeeded, and the "
       "others"
       " did not come back to the new coordinator: nothing shows whether the"
       " job has, and it is not run again");
}

TEST_CASE_METHOD(successor,
                 "rendezvous: N7 where a member has work left, the job has not "
                 "succeeded",
                 "[core]") {
  at(0s, back("b", 1, share_state::succeeded, 3));
  at(0s, back("a", 0, share_state::running, 3));
  CHECK(at(1'200ms, fire(1)) == "revoke_generation 7: a");
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: N7 an outcome is written before it is told",
                 "[core]") {
  auto begins = coordinator_started{};
  begins.writes_outcome = true;
  at(0s, begins);
  run();
  at(1s, succeeded("a", 1));
  at(1s, succeeded("b", 1));
  CHECK(at(1s, succeeded("c", 1)).starts_with("write_outcome succeeded; arm_"));
  const auto limit = armed.rbegin()->first;
  CHECK(due(limit) == 6s);
  at(2s, disconnect("b"));
  CHECK(at(2s, rejoin("b", plan_of("b"), share_state::succeeded))
        == "accept_agent b");
  SECTION("it is") {
    CHECK(at(3s, outcome_written{}).starts_with("end_job succeeded: a b c; "));
    CHECK(at(4s, fire(limit)) == "");
  }
  SECTION("it cannot be") {
    CHECK(at(6s, fire(limit)).starts_with("end_job succeeded: a b c; "));
    CHECK(at(7s, outcome_written{}) == "");
  }
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: W4 who knows that the job has ended tells those "
                 "that come, and goes",
                 "[core]") {
  auto begins = coordinator_started{.successor = true};
  begins.decided = outcome{.reason = "all workers of generation 7 succeeded"};
  CHECK(at(0s, begins) == "arm_timer 1");
  CHECK(due(1) == 30s);
  CHECK(at(1s, back("a", 0, share_state::succeeded))
          .starts_with("accept_agent a; end_job succeeded: a"));
  // It is of the next job with this name.
  CHECK(at(2s, join("b")) == "reject_agent b: connection_failed");
  CHECK(at(3s, left("a")) == "forget_agent a");
  CHECK(at(30s, fire(1)) == "close_job");
}

TEST_CASE_METHOD(
  fixture,
  "rendezvous: the outcome is in what voters store, and no other "
  "follows it",
  "[core]") {
  run();
  CHECK_FALSE(uut.job_and_end().decided);
  at(1s, stop_requested{15});
  CHECK_FALSE(uut.job().decided); // Which agents are told.
  const auto left = uut.job_and_end();
  CHECK(left.decided == uut.result());
  replace(settings, {});
  CHECK(at(0s, coordinator_started{.successor = true, .known = left})
        == "arm_timer 1");
  CHECK(uut.result() == left.decided);
  CHECK(uut.job_and_end().decided == left.decided);
  CHECK(at(1s, back("a", 0)).starts_with("accept_agent a; end_job stopped: a"));
}

// -- what is the job's
// -------------------------------------------------------------

TEST_CASE_METHOD(
  successor,
  "rendezvous: N1 who was accepted once is not turned away for its "
  "settings",
  "[core]") {
  auto known = job();
  known.settings = {4, 6, 2};
  known.is_resized = true;
  auto a = told(back("a", 0), known);
  a.settings = {4, 6, 2};
  CHECK(at(0s, a).starts_with("accept_agent a"));
  auto b = back("b", 1); // With a share of a generation, and nothing else.
  b.settings = {1, 8, 9};
  CHECK(at(0s, b).starts_with("accept_agent b"));
  auto c = join("c");
  c.settings = {4, 6, 2};
  CHECK(at(0s, c) == "reject_agent c: settings_mismatch");
}

TEST_CASE_METHOD(successor,
                 "rendezvous: N1 fixed ranks must agree, whoever comes",
                 "[core]") {
  auto a = back("a", 0);
  a.settings.ranked = true;
  CHECK(at(0s, a) == "reject_agent a: settings_mismatch");
}

TEST_CASE_METHOD(
  successor,
  "rendezvous: N1 the numbers of nodes are those that two agents "
  "were told of",
  "[core]") {
  auto known = job();
  known.settings = {1, 6, 4};
  known.is_resized = true;
  at(0s, told(join("a"), known));
  CHECK(uut.settings() == settings); // One may lie.
  at(0s, told(join("b"), known));
  CHECK(uut.settings() == known.settings);
  CHECK(uut.budget().restart_count_max() == 4);
  // And both the old numbers and the new may be asked for.
  auto c = join("c");
  c.settings = {3, 5, 4};
  CHECK(at(0s, c) == "accept_agent c");
}

TEST_CASE_METHOD(
  fixture,
  "rendezvous: W3 an agent and what a predecessor has left are two "
  "witnesses",
  "[core]") {
  auto known = job();
  known.settings = {1, 6, 1};
  known.is_resized = true;
  at(0s, coordinator_started{.successor = true, .known = known});
  CHECK(uut.settings() == settings); // It may be of an earlier job.
  at(0s, told(join("a"), known));
  CHECK(uut.settings() == known.settings);
}

TEST_CASE_METHOD(successor,
                 "rendezvous: W3 while it is not known what the job asks for, "
                 "no agent is turned away for good",
                 "[core]") {
  auto x = join("c");
  x.settings = {4, 6, 2};
  CHECK(at(0s, x) == "reject_agent c: connection_failed");
  at(0s, join("a"));
  at(0s, join("b"));
  at(1'200ms, fire(1));
  CHECK(at(2s, x) == "reject_agent c: settings_mismatch");
}

TEST_CASE_METHOD(
  successor,
  "rendezvous: N6 restarts and excluded hosts are known as far as "
  "two agents know them",
  "[core]") {
  auto known = job();
  known.restart_count = 2;
  known.excluded = {{"node-b", "a bad disk", "bob", {}}};
  at(0s, told(join("a"), known));
  CHECK(uut.budget().restart_count() == 0);
  auto other = known;
  other.excluded.push_back({"node-a", "a lie", "", {}});
  at(0s, told(join("b"), other));
  CHECK(uut.budget().restart_count() == 2);
  REQUIRE(uut.excluded_hosts().size() == 1);
  CHECK(uut.excluded_hosts().front().host == "node-b");
  CHECK(uut.agents().at({"b"}).excluded);
  CHECK_FALSE(uut.agents().at({"a"}).excluded);
}

TEST_CASE("rendezvous: a failure that an earlier coordinator has charged costs "
          "no second restart",
          "[core]") {
  auto x = fixture{{2, 3, 2}};
  auto known = x.job();
  known.restart_count = 1;
  known.newest = {7};
  auto spent = 1U;
  SECTION("it was the end of the generation that is found") {
    known.charged = {7};
  }
  SECTION("it was that of the one before") {
    known.charged = {6};
    spent = 2;
  }
  SECTION("what was never formed cannot have been charged") {
    known.charged = {8};
    spent = 2;
  }
  x.at(0s, coordinator_started{
             .successor = true, .known = known, .is_proved = true});
  x.at(0s, x.back("a", 0, share_state::failed));
  x.at(0s, x.back("b", 1));
  REQUIRE(x.uut.current_phase() == fixture::phase::stopping);
  x.at(1s, x.stopped("a", 7));
  x.at(1s, x.stopped("b", 7));
  CHECK(x.uut.budget().restart_count() == spent);
  CHECK(x.uut.job().charged == generation_id{7});
}

TEST_CASE_METHOD(successor,
                 "rendezvous: N6 a drain that waits is known as far as two "
                 "agents know it, and begins with a replacement",
                 "[core]") {
  auto known = job();
  known.drains = {{{"b"}, "bob", 30s}, {{"c"}, "carol", 40s}};
  at(0s, told(back("a", 0), known));
  auto other = known;
  other.drains.pop_back(); // A lie, or old.
  at(0s, told(back("b", 1), other));
  REQUIRE(uut.generation() == generation_id{7});
  CHECK(uut.agents().at({"b"}).waits_to_drain());
  CHECK(uut.job().drains == other.drains);
  CHECK(at(2s, join("c"))
        == "accept_agent c; notify_drain b; tell_charter: a b c");
  CHECK(last<notify_drain>().time == 30s);
  CHECK(last<notify_drain>().reason == "asked for by bob");
  CHECK_FALSE(uut.agents().at({"c"}).drain.has_value());
  CHECK(uut.job().drains.empty());
}

TEST_CASE("rendezvous: N6 what two agents were told of counts, although their "
          "coordinator has left only a part of it behind",
          "[core]") {
  auto x = fixture{{2, 3, 2}};
  auto known = x.job();
  auto left = known; // As a tombstone has it: without lists.
  SECTION("of the same revision") {}
  SECTION("of a later one, of which agents were not told") {
    ++left.revision;
  }
  SECTION("of an earlier one, as from a journal") {
    left.revision = 1;
  }
  known.drains = {{{"b"}, "bob", 30s}};
  known.excluded = {{"node-x", "a bad disk", "bob", {}}};
  x.at(0s, coordinator_started{
             .successor = true, .known = left, .names_hosts = false});
  x.at(0s, x.told(x.back("a", 0), known));
  CHECK(x.uut.job().drains.empty()); // One may lie.
  CHECK(x.uut.job().excluded.empty());
  x.at(1s, x.told(x.back("b", 1), known));
  REQUIRE(x.uut.generation() == generation_id{7});
  CHECK(x.uut.job().drains == known.drains);
  REQUIRE(x.uut.excluded_hosts().size() == 1);
  CHECK(x.uut.excluded_hosts().front().since == time_point{1s}); // At least.
  CHECK(x.uut.agents().at({"b"}).waits_to_drain());
  CHECK(x.at(2s, x.join("c")).find("notify_drain b") != std::string::npos);
}

TEST_CASE_METHOD(successor,
                 "rendezvous: N6 what was taken back before is not believed "
                 "again, though two were not told of that",
                 "[core]") {
  auto old = job();
  old.drains = {{{"b"}, "bob", 30s}};
  at(0s, told(join("a"), job(6)));
  at(0s, told(join("b"), old));
  at(0s, told(join("c"), old));
  CHECK(uut.job().drains.empty());
}

TEST_CASE_METHOD(successor,
                 "rendezvous: N6 a drain waits for its node, which is not back",
                 "[core]") {
  auto known = job();
  known.drains = {{{"c"}, "carol", 40s}};
  at(0s, told(join("a"), known));
  at(0s, told(join("b"), known));
  CHECK(uut.job().drains == known.drains);
  at(0s, join("c"));
  CHECK(uut.agents().at({"c"}).is_draining()); // Two others are enough.
}

TEST_CASE_METHOD(successor,
                 "rendezvous: N6 a drain of a node that does not come back is "
                 "forgotten with the first generation",
                 "[core]") {
  auto known = job();
  known.drains = {{{"gone"}, "carol", 40s}};
  at(0s, told(join("a"), known));
  at(0s, told(join("b"), known));
  CHECK_FALSE(uut.job().drains.empty());
  at(1'200ms, fire(1));
  CHECK_FALSE(uut.job().drains.empty());
  REQUIRE(at(2s, join("c")).find("announce_generation") != std::string::npos);
  at(3s, started("a", uut.generation().value));
  CHECK(uut.job().drains.empty());
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: N6 agents are told of a drain that waits, and "
                 "that it was taken back",
                 "[core]") {
  at(0s, coordinator_started{});
  run();
  at(0s, left("c"));
  CHECK(at(1s, drain_requested{"b", 60s, true, "alice"})
          .ends_with("tell_charter: a b"));
  CHECK(uut.job().drains == std::vector<pending_drain>{{{"b"}, "alice", 60s}});
  CHECK(at(2s, drain_withdrawal_requested{"b", "alice"})
          .ends_with("tell_charter: a b"));
  CHECK(uut.job().drains.empty());
}

TEST_CASE_METHOD(
  fixture,
  "rendezvous: N6 failures of a host count on, as far as two agents "
  "know of them",
  "[core]") {
  replace(settings, {.exclude_after = 3});
  at(0s, coordinator_started{true});
  auto known = job();
  known.failing = {{"node-a", 2}, {"node-b", 2}};
  at(0s, told(join("a"), known));
  auto other = known;
  other.failing = {{"node-b", 1}, {"node-x", 9}};
  at(0s, told(join("b"), other));
  CHECK(uut.job().failing == std::vector<failing_host>{{"node-b", 1}});
  // One that is not asked to exclude hosts does not count.
  replace(settings, {});
  at(0s, coordinator_started{true});
  at(0s, told(join("a"), known));
  at(0s, told(join("b"), known));
  CHECK(uut.job().failing == known.failing); // Until it is its own job.
  at(0s, join("c"));
  CHECK(at(1'200ms, fire(1)).find("announce_generation") != std::string::npos);
  CHECK(uut.job().failing.empty());
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: N6 agents are told what an operator has changed",
                 "[core]") {
  at(0s, coordinator_started{});
  run();
  const auto before = uut.job().revision;
  CHECK(before > 0);
  CHECK(
    at(1s, resize_requested{2, 5, "alice"}).ends_with("tell_charter: a b c"));
  CHECK(uut.job().revision == before + 1);
  CHECK(uut.job().is_resized);
  CHECK(uut.job().settings.agent_count_max == 5);
}

TEST_CASE_METHOD(
  successor,
  "rendezvous: N6 its own changes count more than what it did not "
  "believe",
  "[core]") {
  at(0s, told(join("a"), job(40)));
  at(0s, join("b"));
  at(1'200ms, fire(1));
  // Others may come yet that bear witness of it.
  CHECK(uut.job().revision == 0);
  CHECK(at(1'300ms, join("c")).ends_with("; tell_charter: a b c"));
  CHECK(uut.generation() == generation_id{1});
  CHECK(uut.job().revision > 40);
}

TEST_CASE_METHOD(successor,
                 "rendezvous: N6 what one has heard is not told as if two had",
                 "[core]") {
  auto ordered = job(2);
  ordered.excluded = {{"node-z", "", "bob", {}}};
  at(0s, told(join("a"), ordered));
  at(0s, told(join("b"), job(0)));
  const auto between = uut.job(); // What `b` was told of.
  CHECK(between.excluded.empty());
  CHECK(between.revision == 0);
  at(0s, told(join("c"), ordered));
  CHECK(uut.job().excluded.size() == 1);
  CHECK(uut.job().revision == 2);
  // It ends. What `b` knows does not stand against what the others know.
  replace(settings, {});
  at(0s, coordinator_started{true});
  at(0s, told(join("a"), ordered));
  at(0s, told(join("b"), between));
  at(0s, told(join("c"), ordered));
  CHECK(uut.job().excluded.size() == 1);
}

TEST_CASE_METHOD(successor,
                 "rendezvous: N6 the newest order counts, whoever comes first",
                 "[core]") {
  auto old = job(4);
  old.excluded = {{"node-z", "", "bob", {}}};
  auto newest = job(5);
  newest.settings = {2, 4, 2};
  newest.is_resized = true;
  at(0s, told(join("a"), old));
  at(0s, told(join("b"), old));
  CHECK(uut.job().revision == 4);
  // One may lie, and others are not told of it.
  CHECK(at(0s, told(join("d"), newest)) == "accept_agent d");
  CHECK(uut.job().revision == 4);
  at(0s, told(join("e"), newest));
  CHECK(uut.settings().agent_count_max == 4);
  CHECK(uut.job().revision == 5);
  // An older pair that comes later changes nothing.
  at(0s, told(join("f"), old));
  CHECK(uut.settings().agent_count_max == 4);
}

TEST_CASE_METHOD(successor,
                 "rendezvous: N6 a host is excluded that two know of, though a "
                 "third has not heard of it",
                 "[core]") {
  auto known = job(5);
  known.excluded = {{"node-z", "a bad disk", "bob", {}}};
  at(0s, told(join("b"), job(4)));
  at(0s, told(join("a"), known));
  CHECK(uut.excluded_hosts().empty());
  at(0s, told(join("c"), known));
  REQUIRE(uut.excluded_hosts().size() == 1);
  CHECK(uut.excluded_hosts().front().host == "node-z");
}

TEST_CASE_METHOD(successor,
                 "rendezvous: N6 an order counts as long as no generation has "
                 "formed",
                 "[core]") {
  auto known = job(5);
  known.settings = {3, 3, 2};
  known.is_resized = true;
  at(1'200ms, fire(1));
  CHECK(at(2s, told(join("a"), known)).starts_with("accept_agent a"));
  CHECK(at(2s, told(join("b"), known)).starts_with("accept_agent b"));
  CHECK(uut.settings().agent_count_min == 3);
  CHECK(uut.current_phase() == phase::gathering);
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: N6 what a predecessor has left and an agent that "
                 "is late know counts",
                 "[core]") {
  auto known = job(5);
  known.settings = {1, 1, 2};
  known.is_resized = true;
  at(0s, coordinator_started{.successor = true, .known = known});
  at(1'200ms, fire(1));
  CHECK(at(2s, told(join("a"), known)).find("announce_generation 1: a=0+1")
        != std::string::npos);
  CHECK(uut.settings().agent_count_max == 1);
}

TEST_CASE(
  "rendezvous: N6 a generation that is found with more nodes than were ordered"
  " ends for the order",
  "[core]") {
  auto x = successor{{1, 3, 2}};
  auto known = x.job(5);
  known.settings = {1, 2, 2};
  known.is_resized = true;
  x.at(0s, x.told(x.back("a", 0, share_state::running, 3), known));
  x.at(0s, x.told(x.back("b", 1, share_state::running, 3), known));
  CHECK(x.at(0s, x.told(x.back("c", 2, share_state::running, 3), known))
        == "accept_agent c; revoke_generation 7: a b c");
  CHECK(x.uut.settings().agent_count_max == 2);
}

TEST_CASE_METHOD(successor,
                 "rendezvous: N6 an order that was given here counts more than "
                 "what agents bring later",
                 "[core]") {
  at(1'200ms, fire(1));
  at(2s, join("x"));
  at(2s, resize_requested{4, 5, "alice"});
  CHECK(uut.job().revision == 1);
  auto known = job(5);
  known.settings = {1, 6, 4};
  known.is_resized = true;
  at(3s, told(join("a"), known));
  CHECK(at(3s, told(join("b"), known)).ends_with("tell_charter: a b x"));
  CHECK(uut.settings().agent_count_min == 4);
  CHECK(uut.settings().agent_count_max == 5);
  CHECK(uut.budget().restart_count_max() == 4);
  CHECK(uut.job().revision == 6);
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: N6 a host that was included here stays so, "
                 "whatever agents bring later",
                 "[core]") {
  auto known = job(5);
  known.excluded = {{"node-z", "a bad disk", "bob", {}},
                    {"node-y", "a bad disk", "bob", {}}};
  at(0s, coordinator_started{.successor = true, .known = known});
  at(1'200ms, fire(1));
  at(2s, join("x"));
  at(2s, inclusion_requested{"node-z", "alice"});
  at(2s, inclusion_requested{"node-y", "alice"});
  at(2s, exclusion_requested{"node-y", "alice", "it is bad"});
  at(3s, told(join("a"), known));
  REQUIRE(uut.excluded_hosts().size() == 1);
  CHECK(uut.excluded_hosts().front().host == "node-y");
}

TEST_CASE("rendezvous: N6 of excluded hosts and of drains the newest order "
          "counts, whoever comes first",
          "[core]") {
  auto x = successor{{5, 6, 2}};
  auto old = x.job(4);
  old.excluded = {{"node-z", "", "bob", {}}, {"node-d", "", "bob", {}}};
  old.drains = {{{"a"}, "bob", 30s}, {{"gone"}, "bob", 30s}};
  auto newest = x.job(5);
  newest.excluded = {{"node-b", "a bad disk", "alice", {}}};
  newest.drains = {{{"e"}, "alice", 40s}};
  x.at(0s, x.told(x.join("a"), old));
  x.at(0s, x.told(x.join("b"), old));
  x.at(0s, x.told(x.join("d"), newest)); // One may lie.
  CHECK(x.uut.excluded_hosts().size() == 2);
  CHECK(x.uut.agents().at({"a"}).waits_to_drain());
  CHECK(x.uut.agents().at({"d"}).excluded);
  x.at(0s, x.told(x.join("e"), newest));
  REQUIRE(x.uut.excluded_hosts().size() == 1);
  CHECK(x.uut.excluded_hosts().front().host == "node-b");
  CHECK(x.uut.agents().at({"b"}).excluded);
  CHECK_FALSE(x.uut.agents().at({"d"}).excluded);
  CHECK_FALSE(x.uut.agents().at({"a"}).drain.has_value());
  CHECK(x.uut.agents().at({"e"}).waits_to_drain());
  CHECK(x.uut.job().drains == newest.drains);
  CHECK(x.uut.job().revision == 5); // Agents know all of it.
}

TEST_CASE("rendezvous: N6 drains that were asked for and taken back here count "
          "more than what agents bring later",
          "[core]") {
  auto x = successor{{6, 7, 2}};
  auto known = x.job(4);
  known.drains = {{{"a"}, "bob", 30s}, {{"b"}, "bob", 30s}};
  x.at(0s, x.told(x.join("a"), known));
  x.at(0s, x.told(x.join("b"), known));
  x.at(0s, x.join("c"));
  x.at(1'200ms, x.fire(1));
  x.at(2s, drain_requested{"c", 60s, true, "alice"});
  x.at(2s, drain_withdrawal_requested{"a", "alice"});
  x.at(2s, drain_requested{"b", 60s, true, "alice"}); // It stays so.
  known.revision = 5;
  known.drains.pop_back();
  x.at(3s, x.told(x.join("d"), known));
  x.at(3s, x.told(x.join("e"), known));
  CHECK_FALSE(x.uut.agents().at({"a"}).drain.has_value());
  CHECK(x.uut.agents().at({"b"}).waits_to_drain());
  CHECK(
    x.uut.job().drains
    == std::vector<pending_drain>{{{"b"}, "bob", 30s}, {{"c"}, "alice", 60s}});
}

TEST_CASE_METHOD(successor,
                 "rendezvous: N6 a host that was excluded here again stays so, "
                 "whatever agents bring later",
                 "[core]") {
  auto known = job(4);
  known.settings = {4, 4, 2}; // There is no generation meanwhile.
  known.excluded = {{"node-y", "a bad disk", "bob", {}},
                    {"node-z", "a bad disk", "bob", {}}};
  at(0s, told(join("a"), known));
  at(0s, told(join("b"), known));
  at(1'200ms, fire(1));
  at(2s, exclusion_requested{"node-z", "alice", "it is bad"});
  known.revision = 5;
  known.excluded.clear();
  known.settings = {5, 5, 2};
  at(3s, told(join("c"), known));
  at(3s, told(join("d"), known));
  REQUIRE(uut.excluded_hosts().size() == 1);
  CHECK(uut.excluded_hosts().front().host == "node-z");
}

TEST_CASE_METHOD(successor,
                 "rendezvous: N6 excluded hosts are the same in any order",
                 "[core]") {
  auto known = job(5);
  known.excluded = {{"node-y", "", "bob", {}}, {"node-z", "", "bob", {}}};
  auto left = known;
  std::swap(left.excluded.front(), left.excluded.back());
  CHECK(are_orders_equal(known, left));
  left.excluded.front().host = "node-x";
  CHECK_FALSE(are_orders_equal(known, left));
}

// -- numbers
// -----------------------------------------------------------------------

TEST_CASE_METHOD(successor,
                 "rendezvous: V4 numbers are above what an agent has ever seen",
                 "[core]") {
  auto known = job();
  known.newest = {900};
  at(0s, told(join("a"), known));
  at(0s, join("b"));
  at(0s, join("c"));
  CHECK(at(1'200ms, fire(1)).starts_with("announce_generation 901: "));
}

TEST_CASE_METHOD(
  fixture,
  "rendezvous: V4 numbers are above what a predecessor has left, "
  "whatever an agent claims to run",
  "[core]") {
  at(0s, coordinator_started{.successor = true, .known = {.newest = {900}}});
  at(0s, back("a", 0));
  at(0s, back("b", 1));
  REQUIRE(uut.generation() == generation_id{7});
  at(2s, left("b"));
  at(2s, join("c"));
  CHECK(at(2s, stopped("a", 7)).starts_with("announce_generation 901: "));
}

TEST_CASE_METHOD(
  fixture,
  "rendezvous: V4 a late claim of a higher number raises all that "
  "follow",
  "[core]") {
  at(0s, coordinator_started{false});
  run();
  at(1s, back("d", 0, share_state::running, 2, 5'000));
  at(1s, stopped("d", 5'000));
  at(2s, left("c"));
  at(2s, stopped("a", 1));
  at(2s, stopped("b", 1));
  CHECK(uut.generation() == generation_id{5'001});
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: P8 a successor goes on with the number that "
                 "agents have seen, in a term of its own",
                 "[core]") {
  at(0s,
     coordinator_started{.successor = true, .unseen = generation_of(90, 0)});
  at(0s, back("a", 0, share_state::running, 2, generation_of(50, 7).value));
  at(0s, join("b"));
  at(0s, join("c"));
  at(1'200ms, fire(1));
  at(1'300ms, stopped("a", generation_of(50, 7).value));
  CHECK(uut.generation() == generation_of(90, 8));
  // One who comes later has seen more of them.
  auto known = job();
  known.newest = generation_of(70, 12);
  at(2s, told(join("d"), known));
  at(2s, left("b"));
  for (const auto* agent : {"a", "c"})
    at(2s, stopped(agent, generation_of(90, 8).value));
  CHECK(uut.generation() == generation_of(90, 13));
}

TEST_CASE_METHOD(successor,
                 "rendezvous: N8 V5 no clock says which numbers there can be",
                 "[core]") {
  const auto last = claimed_generation_end.value - 1;
  CHECK(at(0s, back("a", 0, share_state::running, 2, last))
          .starts_with("accept_agent a"));
  CHECK(at(0s, back("b", 1, share_state::running, 2, last + 1))
        == "reject_agent b: bad_plan");
}

} // namespace actorrun::test::rendezvous_succession_test
