// Tests what operators ask of a job, and what they are answered.
#include "tests/support/rendezvous_fixture.hpp"

namespace actorrun::test::rendezvous_steering_test {

namespace {

struct fixture : rendezvous_fixture {
  using rendezvous_fixture::rendezvous_fixture;

  static drain_requested drain(const std::string& node, bool waits = false) {
    return {node, 60s, waits, "alice"};
  }

  static drain_withdrawal_requested cancel(const std::string& node) {
    return {node, "bob"};
  }

  static resize_requested resize(uint32_t min, uint32_t max) {
    return {min, max, "alice"};
  }

  static exclusion_requested exclude(const std::string& host) {
    return {host, "bob", "bad disk"};
  }

  static inclusion_requested include(const std::string& host) {
    return {host, "bob"};
  }

  /// The text of the answer, with `refused: ` in front if it is a refusal.
  std::string answer(const rendezvous_event& event, milliseconds t = 0s) {
    at(t, event);
    const auto& x = last<answer_operator>();
    return (x.code == errc::none ? "" : "refused: ") + x.text;
  }

  /// Has all workers of a generation stopped.
  void stop_all(uint64_t generation) {
    for (const auto* agent : {"a", "b", "c"})
      at(0s, stopped(agent, generation));
  }
};

} // namespace

// -- who leads -------------------------------------------------------------------

TEST_CASE_METHOD(fixture, "steering: another node is asked to lead", "[core]") {
  run();
  const auto lead = [](const std::string& node) {
    return lead_requested{node, "alice",
                          electorate{leader_source::voters, {"a"}, {{"b"}}}};
  };
  SECTION("a voter takes the lead") {
    const auto text = at(1s, lead("node-b"));
    CHECK(
      text.starts_with("answer_operator done: node node-b takes the lead in "
                       "a moment; no worker is stopped"));
    CHECK(text.ends_with("; hand_over_leadership b"));
    CHECK(last<hand_over_leadership>().by == "alice");
  }
  SECTION("it may be named by its rank") {
    CHECK(answer(lead("1")).starts_with("node node-b takes the lead"));
  }
  SECTION("the leader leads already") {
    CHECK(answer(lead("node-a")) == "node node-a leads already");
  }
  SECTION("a node that does not vote has nothing to lead with") {
    CHECK(answer(lead("node-c"))
          == "refused: node node-c is neither a voter nor a deputy, so it does "
             "not know what a leader must; these can lead: b");
    auto alone = lead("node-c");
    alone.among->others.clear();
    CHECK(answer(alone).ends_with("; no other node can lead now"));
  }
  SECTION("an unknown node") {
    CHECK(answer(lead("node-x"))
            .starts_with("refused: this job has no node node-x"));
  }
  SECTION("a node that is out of touch, or leaves") {
    at(1s, disconnect("b"));
    CHECK(
      answer(lead("node-b"), 1s)
      == "refused: node node-b is leaving, or out of touch; these can lead: "
         "b");
  }
  SECTION("without an election") {
    CHECK(
      answer(lead_requested{"node-b", "alice"})
      == "refused: the nodes of this job do not elect its coordinator; they "
         "do where all are started with --rdzv-conf=succession=on");
  }
  SECTION("with etcd") {
    auto asked = lead("node-b");
    asked.among->by = leader_source::registry;
    CHECK(answer(asked)
          == "refused: etcd elects the coordinator of this job, so no node can "
             "be chosen; it moves when its node leaves");
  }
}

// -- drain ---------------------------------------------------------------------

TEST_CASE_METHOD(fixture,
                 "steering: a drained node gets notice, leaves, and costs no "
                 "restart",
                 "[core]") {
  run();
  CHECK(at(1s, drain("node-b"))
        == "notify_drain b; answer_operator done: node node-b leaves in 60.0 s"
           " at the latest, or when its workers have ended");
  CHECK(last<notify_drain>().time == 60s);
  CHECK(uut.current_phase() == phase::running);
  CHECK(at(5s, leaving("b")) == "revoke_generation 1: a b c");
  CHECK(last<revoke_generation>().reason.text
        == "agent b leaves, as alice has asked");
  at(5s, stopped("b", 1));
  at(5s, left("b"));
  at(5s, stopped("a", 1));
  CHECK(at(5s, stopped("c", 1)) == "announce_generation 2: a=0+1 c=1+1");
  CHECK(uut.budget().restart_count() == 0);
}

TEST_CASE_METHOD(fixture,
                 "steering: a peer that fails while a node drains costs no "
                 "restart, though that node hears of its drain only later",
                 "[core]") {
  run();
  at(1s, drain("node-b"));
  at(2s, disconnect("b"));
  at(3s, failed("a", 1));
  at(3s, stopped("a", 1));
  at(3s, stopped("c", 1));
  at(4s, rejoin("b", plan_of("b"), share_state::idle));
  at(4s, stopped("b", 1));
  CHECK(uut.budget().restart_count() == 0);
  CHECK(last<explain_failures>().exemption.text
        == "agent b leaves, as alice has asked");
}

TEST_CASE_METHOD(fixture,
                 "steering: a peer that fails while a node drains costs no "
                 "restart, though all workers of that node end well",
                 "[core]") {
  run();
  at(1s, drain("node-b"));
  at(3s, failed("a", 1));
  at(3s, stopped("a", 1));
  at(3s, stopped("c", 1));
  at(4s, succeeded("b", 1));
  CHECK(uut.budget().restart_count() == 0);
  CHECK(last<explain_failures>().exemption.text
        == "agent b leaves, as alice has asked");
}

TEST_CASE_METHOD(fixture,
                 "steering: of the last nodes that have gone it says why",
                 "[core]") {
  run();
  for (auto i = 0; i < 33; ++i) {
    const auto name = "s" + std::to_string(i);
    at(1s, join(name));
    at(1s, left(name));
  }
  CHECK(answer(drain("node-s0"), 1s).starts_with("refused: this job has no"));
  CHECK(answer(drain("node-s1"), 1s)
          .starts_with("refused: node node-s1 is not in this job any more"));
}

TEST_CASE_METHOD(fixture, "steering: a successor learns which nodes drain",
                 "[core]") {
  const auto is_notice = GENERATE(false, true);
  run();
  auto next = fixture{};
  next.at(0s, coordinator_started{.successor = true});
  for (const auto* agent : {"a", "b", "c"}) {
    auto x = next.rejoin(agent, plan_of(agent), share_state::running);
    const auto drains = x.offering.agent.value == "b";
    if (drains)
      x.held->drain_left = 30s;
    if (drains && is_notice)
      x.held->notice = "spot";
    next.at(0s, x);
    if (drains) // There is no safe point to wait for any more.
      CHECK_FALSE(next.last<notify_drain>().at_safe_point);
  }
  CHECK(next.uut.current_phase() == phase::running);
  const auto& record = next.uut.agents().at({"b"});
  CHECK(record.is_draining());
  CHECK(record.drain->due == time_point{30s});
  CHECK(record.drain->is_notice == is_notice);
  CHECK(record.drain->by
        == (is_notice ? "the notice on node-b (\"spot\")" : "an operator"));
  CHECK_FALSE(next.uut.agents().at({"a"}).drain);
  // It is told nothing new when it comes again.
  auto again = next.rejoin("b", plan_of("b"), share_state::running);
  again.held->drain_left = std::chrono::hours{1'000'000};
  next.at(1s, disconnect("b"));
  next.at(1s, again);
  CHECK(record.drain->due == time_point{30s});
}

TEST_CASE_METHOD(fixture, "steering: nodes have three names", "[core]") {
  run();
  CHECK(answer(drain("1")).starts_with("node node-b leaves in"));
  CHECK(answer(drain("b")).starts_with("node node-b leaves already"));
  CHECK(answer(drain("node-x"))
        == "refused: this job has no node node-x; it is named by its host, its"
           " agent or its node rank, as in actorctl status");
}

TEST_CASE_METHOD(fixture, "steering: a node that is gone is known as such",
                 "[core]") {
  run();
  at(1s, leaving("b"));
  at(1s, left("b"));
  CHECK(answer(drain("node-b"))
        == "refused: node node-b is not in this job any more: agent b left");
  CHECK(answer(drain("b"))
        == "refused: node b is not in this job any more: agent b left");
  at(2s, join("b")); // It is back.
  CHECK(answer(drain("node-b"), 2s).find("any more") == std::string::npos);
}

TEST_CASE("steering: a host with several agents is no name of a node",
          "[core]") {
  auto x = fixture{{1, 3, 1}};
  auto second = x.join("b");
  second.offering.host = "node-a";
  x.at(0s, x.join("a"));
  x.at(0s, second);
  CHECK(x.answer(fixture::drain("node-a"))
        == "refused: host node-a has several agents; name one of them: a, b");
  CHECK(x.answer(fixture::drain("b"))
        == "agent b on node-a leaves; it has no workers");
}

TEST_CASE("steering: a host's name comes before a node rank", "[core]") {
  auto x = fixture{};
  auto second = x.join("b");
  second.offering.host = "1"; // Which is the rank of a.
  x.at(0s, x.join("a"));
  x.at(0s, second);
  x.at(0s, x.join("c"));
  REQUIRE(x.uut.agents().at({"a"}).place.node_rank == 1);
  CHECK(x.answer(fixture::drain("1")).starts_with("node 1 leaves in"));
  CHECK(x.uut.agents().at({"b"}).is_draining());
}

TEST_CASE_METHOD(fixture, "steering: between generations no node has a rank",
                 "[core]") {
  revoke();
  CHECK(answer(drain("2")).starts_with("refused: this job has no node 2"));
}

TEST_CASE("steering: a drained node without workers keeps none out", "[core]") {
  auto x = fixture{{2, 4, 1}};
  x.run_two();
  x.at(4s, x.join("c"));
  CHECK(x.answer(fixture::drain("c"), 4s)
        == "node node-c leaves; it has no workers");
  CHECK(x.at(60s, x.join("d")) == "accept_agent d; arm_timer 6");
}

TEST_CASE_METHOD(fixture, "steering: a node out of touch is not drained",
                 "[core]") {
  run();
  at(0s, disconnect("b"));
  CHECK(answer(drain("b"))
        == "refused: node node-b is out of touch: its lease decides");
}

TEST_CASE_METHOD(fixture,
                 "steering: a drain that waits does so while too few are left, "
                 "and one that does not begins",
                 "[core]") {
  run();
  at(0s, drain("b"));
  at(0s, drain("c", true));
  CHECK(at(1s, leaving("a")) == "revoke_generation 1: a b c");
  CHECK(answer(drain("c", true), 1s).starts_with("node node-c waits"));
  CHECK(answer(drain("c"), 1s).starts_with("node node-c leaves in"));
}

// A node that is out of touch may be back at any moment.
TEST_CASE_METHOD(fixture,
                 "steering: a drain that waits does so when a restart ends the "
                 "generation",
                 "[core]") {
  run();
  at(0s, drain("c", true));
  REQUIRE(uut.agents().at({"c"}).is_draining());
  at(0s, drain("b", true));
  at(1s, disconnect("a"));
  CHECK(at(2s, restart_requested{"alice", ""})
          .ends_with("revoke_generation 1: a b c"));
  CHECK(uut.agents().at({"b"}).waits_to_drain());
}

TEST_CASE("steering: a newcomer waits for the end of a drain", "[core]") {
  auto x = fixture{{2, 4, 1}};
  x.run_two();
  x.at(4s, x.join("c"));
  x.at(4s, x.drain("b"));
  CHECK(x.uut.waiting_for({"c"}).find("when a node has left that is to leave")
        != std::string::npos);
}

TEST_CASE_METHOD(fixture, "steering: no drain begins when the job has ended",
                 "[core]") {
  run();
  at(0s, drain("b"));
  REQUIRE(
    answer(drain("c", true))
      .starts_with("node node-c leaves when another node can take its place"));
  for (const auto* agent : {"a", "b", "c"})
    at(1s, succeeded(agent, 1));
  REQUIRE(uut.current_phase() == phase::ended);
  CHECK(at(1s, left("a")) == "forget_agent a");
  CHECK(at(1s, left("b")) == "forget_agent b");
}

TEST_CASE_METHOD(fixture, "steering: a second drain is told what counts",
                 "[core]") {
  run();
  at(0s, drain("b"));
  CHECK(at(10s, drain("b"))
        == "answer_operator done: node node-b leaves already, as alice has"
           " asked: in 50.0 s at the latest");
}

TEST_CASE_METHOD(fixture, "steering: a drain keeps the minimum", "[core]") {
  run();
  at(0s, drain("b"));
  CHECK(
    answer(drain("c"))
    == "refused: without node node-c fewer nodes are left than the job needs,"
       " which is 2; start another one first, or give"
       " --wait-for-replacement");
}

TEST_CASE_METHOD(fixture, "steering: a drain waits for a replacement",
                 "[core]") {
  run();
  at(0s, drain("b"));
  CHECK(answer(drain("c", true))
        == "node node-c leaves when another node can take its place; to let it"
           " stay: actorctl drain --cancel c");
  CHECK(answer(drain("c", true), 1s).starts_with("node node-c waits"));
  CHECK(at(2s, join("d"))
        == "accept_agent d; notify_drain c; tell_charter: a b c d");
  CHECK(uut.agents().at({"c"}).is_draining());
}

TEST_CASE_METHOD(fixture, "steering: a drain that waits can be taken back",
                 "[core]") {
  run();
  CHECK(answer(cancel("c"))
        == "refused: no drain of node node-c waits for a replacement");
  CHECK(answer(cancel("x")).starts_with("refused: this job has no node x"));
  at(0s, drain("b"));
  at(0s, drain("c", true));
  CHECK(answer(cancel("node-c"), 1s)
        == "node node-c stays; alice had asked that it leaves");
  CHECK(last<answer_operator>().what == "cancel the drain of node-c");
  CHECK_FALSE(uut.agents().at({"c"}).drain);
  // A replacement that comes changes nothing for it.
  CHECK(at(2s, join("d")) == "accept_agent d");
  CHECK(answer(cancel("c"), 2s).starts_with("refused: no drain"));
  // It can be asked for again.
  CHECK(answer(drain("c", true), 3s).starts_with("node node-c leaves in"));
}

TEST_CASE_METHOD(fixture,
                 "steering: a drain whose workers had notice stays as it is",
                 "[core]") {
  run();
  at(0s, drain("b"));
  CHECK(answer(cancel("b"), 1s)
        == "refused: node node-b leaves already, as alice has asked: that"
           " cannot be taken back any more");
  CHECK(uut.agents().at({"b"}).is_draining());
  at(2s, leaving("a"));
  CHECK(answer(cancel("a"), 2s)
        == "refused: node node-a leaves already: that cannot be taken back any"
           " more");
}

TEST_CASE("steering: the coordinator's node cannot be drained", "[core]") {
  auto x = fixture{{1, 2, 0}};
  x.at(0s, x.join_here("a"));
  x.at(0s, x.join("b"));
  CHECK(x.answer(fixture::drain("node-a"))
          .starts_with("refused: node node-a hosts the coordinator"));
}

TEST_CASE_METHOD(fixture, "steering: what peers of a drained node do is free",
                 "[core]") {
  run();
  at(0s, drain("b"));
  at(1s, failed("a", 1));
  CHECK(uut.current_phase() == phase::stopping);
  at(1s, leaving("b")); // As it does when its workers are stopped.
  stop_all(1);
  CHECK(uut.budget().restart_count() == 0);
  CHECK(uut.generation() == generation_id{2});
  CHECK(uut.agents().at({"b"}).member_of == generation_id{1});
}

TEST_CASE_METHOD(fixture, "steering: newcomers let a drained node finish",
                 "[core]") {
  run_two();
  at(4s, join("c"));
  CHECK(uut.current_phase() == phase::stopping); // It fills the job.
  at(4s, stopped("a", 1));
  at(4s, stopped("b", 1));
  for (const auto* agent : {"a", "b", "c"})
    at(4s, started(agent, 2));
  at(5s, resize(2, 4));
  at(5s, drain("c"));
  CHECK(at(6s, join("d")) == "accept_agent d");
  CHECK(uut.current_phase() == phase::running);
  CHECK(at(7s, leaving("c")) == "revoke_generation 2: a b c");
}

TEST_CASE_METHOD(fixture, "steering: a notice is repeated after a lost link",
                 "[core]") {
  run();
  at(0s, drain("b"));
  at(1s, disconnect("b"));
  auto back = rejoin("b", plan_of("b"), share_state::running);
  CHECK(at(2s, back) == "accept_agent b; notify_drain b");
  CHECK(last<notify_drain>().time == 58s);
}

// -- resize --------------------------------------------------------------------

TEST_CASE_METHOD(fixture, "steering: shrinking lets the last ranks stand by",
                 "[core]") {
  run();
  CHECK(at(1s, resize(1, 2))
        == "answer_operator done: resized from 2:3 to 1:2 nodes; 1 node stands"
           " by; revoke_generation 1: a b c; tell_charter: a b c");
  CHECK(last<revoke_generation>().reason.text
        == "resized to 1:2 nodes by alice");
  at(1s, stopped("a", 1));
  at(1s, stopped("b", 1));
  CHECK(at(1s, stopped("c", 1)) == "announce_generation 2: a=0+1 b=1+1");
  CHECK(uut.agents().contains({"c"}));
  CHECK(uut.budget().restart_count() == 0);
  for (const auto* agent : {"a", "b"})
    at(1s, started(agent, 2));
  // Growing lets it in again.
  CHECK(at(2s, resize(1, 3))
          .ends_with("revoke_generation 2: a b; tell_charter: a b c"));
  CHECK(last<revoke_generation>().reason.text
        == "resized to 1:3 nodes by alice");
}

TEST_CASE_METHOD(fixture, "steering: numbers of nodes have bounds", "[core]") {
  run();
  CHECK(answer(resize(0, 2)).starts_with("refused: a job has 1 to 100000"));
  CHECK(answer(resize(3, 2)).starts_with("refused: a job has 1 to 100000"));
  CHECK(answer(resize(1, 100'001)).starts_with("refused: a job has 1"));
  CHECK(
    answer(resize(4, 5))
    == "refused: 3 nodes are here: a minimum of 4 would end the generation that"
       " runs");
  CHECK(answer(resize(3, 100'000)) == "resized from 2:3 to 3:100000 nodes");
  CHECK(answer(resize(3, 100'000)) == "the job has 3:100000 nodes already");
  CHECK(uut.current_phase() == phase::running);
}

TEST_CASE("steering: fixed ranks have a fixed number", "[core]") {
  auto x = fixture{{1, 1, 0, true}};
  CHECK(x.answer(fixture::resize(1, 2)).starts_with("refused: the nodes of"));
}

TEST_CASE_METHOD(fixture,
                 "steering: after a resize agents bring what they like",
                 "[core]") {
  run();
  at(0s, resize(1, 4));
  CHECK(at(0s, join("d")).starts_with("accept_agent d"));
  auto other = join("e");
  other.settings = {1, 4, 1};
  CHECK(at(0s, other).starts_with("accept_agent e"));
  other.offering.agent = {"f"};
  other.settings = {1, 4, 2};
  CHECK(at(0s, other).starts_with("reject_agent f: settings_mismatch"));
}

// With etcd: how long a successor listens must fit what agents were told.
TEST_CASE("steering: after a resize a lease may differ by half the guard",
          "[core]") {
  auto limits = timeouts{};
  limits.fence_guard = 100ms;
  auto x = fixture{{2, 3, 1, false, 1'200ms}, limits};
  x.run();
  using milliseconds = std::chrono::milliseconds;
  const auto answer = [&x](milliseconds lease) {
    auto newcomer = x.join("d");
    newcomer.settings.lease = lease;
    return x.at(0s, newcomer);
  };
  const auto refused = std::string{"reject_agent d: settings_mismatch"};
  CHECK(answer(1'190ms).starts_with(refused));
  x.at(0s, fixture::resize(1, 4));
  CHECK(answer(1'149ms).starts_with(refused));
  CHECK(answer(1'251ms).starts_with(refused));
  CHECK(answer(milliseconds::min()).starts_with(refused));
  CHECK(answer(milliseconds::max()).starts_with(refused));
  const auto fits = GENERATE(1'150ms, 1'250ms);
  CHECK(answer(fits).starts_with("accept_agent d"));
}

TEST_CASE_METHOD(fixture, "steering: a successor takes as many as it finds",
                 "[core]") {
  run();
  const auto plan = [this](const std::string& agent) { return plan_of(agent); };
  auto next = fixture{{1, 2, 1}};
  next.at(0s, coordinator_started{.successor = true});
  for (const auto* agent : {"a", "b", "c"})
    next.at(0s, next.rejoin(agent, plan(agent), share_state::running));
  CHECK(next.uut.current_phase() == phase::running);
  CHECK(next.uut.settings().agent_count_max == 3);
}

// -- restart and stop ----------------------------------------------------------

TEST_CASE_METHOD(fixture, "steering: a restart is free", "[core]") {
  run();
  CHECK(
    at(0s, restart_requested{"alice", "new data"})
    == "answer_operator done: generation 1 is being stopped, and the next one"
       " follows; this does not count against --max-restarts; "
       "revoke_generation 1: a b c");
  CHECK(
    answer(restart_requested{"bob", ""})
    == "refused: generation 1 is being stopped already (restarted by alice: new"
       " data)");
  stop_all(1);
  CHECK(uut.generation() == generation_id{2});
  CHECK(uut.budget().restart_count() == 0);
}

TEST_CASE_METHOD(fixture, "steering: without a generation there is no restart",
                 "[core]") {
  at(0s, join("a"));
  CHECK(answer(restart_requested{"alice", ""})
        == "refused: no generation runs: waiting for 1 more node: 1 of 2:3 "
           "nodes are"
           " here");
}

TEST_CASE_METHOD(fixture, "steering: a stop is an outcome", "[core]") {
  run();
  CHECK(at(0s, stop_requested{15, "alice", "enough"})
          .starts_with("answer_operator done: the job is being stopped; its"
                       " nodes end with code 143; end_job stopped: a b c"));
  REQUIRE(uut.result());
  CHECK(uut.result()->signal == 15);
  CHECK(uut.result()->reason == "the job was stopped by alice: enough");
  CHECK(answer(stop_requested{15, "bob", ""})
        == "refused: the job has ended: the job was stopped by alice: enough");
  CHECK(answer(drain("b")).starts_with("refused: the job has ended"));
}

TEST_CASE_METHOD(fixture, "steering: a new successor has to listen first",
                 "[core]") {
  at(0s, coordinator_started{.successor = true});
  for (const auto& event :
       {rendezvous_event{drain("a")}, rendezvous_event{resize(1, 2)},
        rendezvous_event{restart_requested{"alice", ""}},
        rendezvous_event{exclude("node-a")},
        rendezvous_event{include("node-a")}})
    CHECK(answer(event).starts_with("refused: the coordinator has just begun"));
}

// -- exclude and include -------------------------------------------------------

TEST_CASE_METHOD(fixture, "steering: an excluded host stands by", "[core]") {
  run();
  CHECK(at(0s, exclude("node-b"))
        == "answer_operator done: host node-b is excluded; 1 node of it stands"
           " by; revoke_generation 1: a b c; tell_charter: a b c");
  CHECK(last<revoke_generation>().reason.text
        == "host node-b is excluded by bob: bad disk");
  at(0s, stopped("a", 1));
  at(0s, stopped("b", 1));
  CHECK(at(0s, stopped("c", 1)) == "announce_generation 2: a=0+1 c=1+1");
  CHECK(uut.waiting_for({"b"})
        == "host node-b is excluded by bob: bad disk; to let it in again:"
           " actorctl include node-b");
  for (const auto* agent : {"a", "c"})
    at(0s, started(agent, 2));
  auto late = join("d");
  late.offering.host = "node-b";
  CHECK(at(1s, late) == "accept_agent d");
  CHECK(uut.current_phase() == phase::running);
  CHECK(at(1s, include("node-b"))
          .ends_with("revoke_generation 2: a c; tell_charter: a b c d"));
  CHECK(last<revoke_generation>().reason.text
        == "host node-b is included again by bob");
  CHECK(answer(include("node-b"))
        == "host node-b is not excluded; it stays so");
  CHECK(answer(include("node-x"))
        == "refused: host node-x is not excluded, and no node of it is here: is"
           " it spelled as in actorctl status?");
}

TEST_CASE("steering: who joins when a host is let in again is told of with it",
          "[core]") {
  auto x = fixture{{2, 5, 1}};
  const auto fire_last = [&] {
    const auto timer = x.armed.rbegin()->first;
    return x.at(x.due(timer), fixture::fire(timer));
  };
  for (const auto* agent : {"a", "b", "c"})
    x.at(0s, x.join(agent));
  REQUIRE(fire_last() == "announce_generation 1: a=0+1 b=1+1 c=2+1");
  x.at(10s, fixture::exclude("node-b"));
  for (const auto* agent : {"a", "b", "c"})
    x.at(10s, fixture::stopped(agent, 1));
  while (x.uut.generation() != generation_id{2})
    fire_last();
  for (const auto* agent : {"a", "c"})
    x.at(20s, fixture::started(agent, 2));
  x.at(20s, fixture::include("node-b"));
  x.at(20s, x.join("d"));
  REQUIRE(x.uut.current_phase() == fixture::phase::running);
  CHECK(fire_last() == "revoke_generation 2: a c");
  CHECK(x.last<revoke_generation>().reason.text
        == "host node-b is included again by bob; 1 more joined");
}

TEST_CASE_METHOD(fixture,
                 "steering: a successor excludes the hosts that it is told of",
                 "[core]") {
  const auto known = excluded_host{"node-b", "bad disk", "bob", {}};
  at(0s, coordinator_started{
           .successor = true,
           .known = {.excluded = {known, known, {"no host", "", "", {}}}}});
  REQUIRE(uut.excluded_hosts().size() == 1);
  CHECK(uut.excluded_hosts().front() == known);
  CHECK(at(0s, join("b")).starts_with("accept_agent b"));
  CHECK(uut.waiting_for({"b"}).starts_with("host node-b is excluded by bob"));
}

TEST_CASE_METHOD(
  fixture, "steering: a first coordinator had no predecessor that excludes",
  "[core]") {
  at(0s,
     coordinator_started{.known = {.excluded = {{"node-b", "", "bob", {}}}}});
  CHECK(uut.excluded_hosts().empty());
}

TEST_CASE_METHOD(fixture, "steering: an exclusion keeps the minimum",
                 "[core]") {
  run();
  at(0s, exclude("node-b"));
  CHECK(answer(exclude("node-c"))
          .starts_with("refused: without host node-c fewer nodes are left"));
  CHECK(answer(exclude("no host")) == "refused: that is no name of a host");
}

TEST_CASE_METHOD(fixture,
                 "steering: who excludes a host that has no node here is asked "
                 "how it is spelled (P13)",
                 "[core]") {
  run();
  CHECK(answer(exclude("node-x"))
        == "host node-x is excluded; no node of it is here: is it spelled as in"
           " actorctl status?");
  CHECK(answer(exclude("node-x")).ends_with("it stays so"));
}

TEST_CASE_METHOD(fixture, "steering: the list of excluded hosts has a bound",
                 "[core]") {
  for (size_t i = 0; i < excluded_hosts_max; ++i)
    REQUIRE(
      answer(exclude("h" + std::to_string(i))).ends_with("actorctl status?"));
  CHECK(answer(exclude("more"))
        == "refused: 64 hosts are excluded, and no more"
           " can be");
}

TEST_CASE("steering: a host is excluded for its own failures", "[core]") {
  auto x = fixture{{2, 3, 5}};
  x.replace({2, 3, 5}, {.exclude_after = 2});
  x.run();
  x.at(0s, x.failed("b", 1));
  x.stop_all(1);
  CHECK(x.uut.excluded_hosts().empty());
  for (const auto* agent : {"a", "b", "c"})
    x.at(1s, x.started(agent, 2));
  x.at(1s, x.failed("b", 2));
  x.at(1s, x.stopped("a", 2));
  x.at(1s, x.stopped("b", 2));
  CHECK(x.at(1s, x.stopped("c", 2))
        == "report_exclusion node-b; announce_generation 3: a=0+1 c=1+1;"
           " tell_charter: a b c");
  CHECK(x.last<report_exclusion>().reason.starts_with(
    "2 failures there have cost a restart, the last: rank 1"));
  // Not below the minimum.
  for (const auto generation : {3, 4}) {
    x.at(2s, x.started("a", generation));
    x.at(2s, x.started("c", generation));
    x.at(2s, x.failed("c", generation));
    x.at(2s, x.stopped("a", generation));
    x.at(2s, x.stopped("c", generation));
  }
  CHECK(x.uut.excluded_hosts().size() == 1);
  CHECK(x.uut.generation() == generation_id{5});
}

TEST_CASE("steering: who is excluded already is not excluded for failures",
          "[core]") {
  auto x = fixture{{2, 3, 5}};
  x.replace({2, 3, 5}, {.exclude_after = 1});
  x.run();
  x.at(0s, x.failed("b", 1));
  CHECK(x.answer(fixture::exclude("node-b"))
        == "host node-b is excluded; 1 node of it stands by");
  x.stop_all(1);
  CHECK(transcript(x.effects) == "announce_generation 2: a=0+1 c=1+1");
  CHECK(x.uut.excluded_hosts().size() == 1);
}

TEST_CASE("steering: an excluded node that has finished ends no generation",
          "[core]") {
  auto x = fixture{{1, 3, 1}};
  x.run();
  x.at(0s, x.succeeded("a", 1));
  CHECK(x.at(0s, fixture::exclude("node-a")).starts_with("answer_operator"));
  CHECK(x.at(0s, fixture::exclude("node-b")).starts_with("answer_operator"));
  CHECK(x.last<revoke_generation>().reason.text.starts_with("host node-b"));
}

// -- logs ----------------------------------------------------------------------

TEST_CASE_METHOD(fixture, "steering: the log level is one node's or all's",
                 "[core]") {
  run();
  CHECK(
    at(0s, log_level_requested{"DEBUG", "node-b", "alice"})
    == "set_log_level DEBUG: b; answer_operator done: node node-b logs DEBUG"
       " from now on");
  CHECK(at(0s, log_level_requested{"ERROR", "", "alice"})
        == "set_log_level ERROR: a b c; answer_operator done: 3 nodes and the"
           " coordinator log ERROR from now on");
  CHECK(answer(log_level_requested{"LOUD", "", "alice"})
          .starts_with("refused: there is no level LOUD"));
}

TEST_CASE_METHOD(fixture, "steering: a node that leaves need not be drained",
                 "[core]") {
  run();
  at(0s, leaving("b"));
  CHECK(answer(drain("b")) == "node node-b leaves already");
}

TEST_CASE_METHOD(fixture,
                 "steering: a smaller job throws no finished work away",
                 "[core]") {
  run();
  at(0s, succeeded("a", 1));
  CHECK(
    answer(resize(1, 2))
    == "refused: some nodes have finished their work: a new generation would"
       " throw it away");
}

TEST_CASE_METHOD(fixture, "steering: who cannot be told to log is named",
                 "[core]") {
  run();
  const auto level = [](const std::string& node) {
    return log_level_requested{.level = "DEBUG", .node = node, .by = "alice"};
  };
  CHECK(answer(level("node-x")).starts_with("refused: this job has no node"));
  at(0s, agent_disconnected{{"b"}});
  CHECK(answer(level("node-b")) == "refused: node node-b is out of touch");
}

} // namespace actorrun::test::rendezvous_steering_test
