// Tests which failure of a generation is the root cause, over all nodes.
#include "tests/support/rendezvous_fixture.hpp"

namespace actorrun::test::rendezvous_causes_test {

namespace {

worker_failure aged_failure(const std::string& agent, duration age,
                            uint32_t local_rank = 0) {
  auto x = rendezvous_fixture::failure_of(agent);
  x.local_rank = local_rank;
  x.age = age;
  return x;
}

struct fixture : rendezvous_fixture {
  fixture() = default;

  using rendezvous_fixture::failed;
  using rendezvous_fixture::stopped;

  static worker_failed failed(const std::string& agent, duration age) {
    return {{agent}, {1}, aged_failure(agent, age)};
  }

  static workers_stopped stopped_with(const std::string& agent,
                                      collateral others) {
    return {{agent}, {1}, 0, std::move(others)};
  }

  /// The outcome, `b0:5 a1:3 +2`: agents and local ranks with ages in ms, and
  /// how many are not listed.
  std::string causes() const {
    const auto say = [](const worker_failure& x) {
      return x.agent.value + std::to_string(x.local_rank) + ":"
             + std::to_string(x.age / 1ms);
    };
    const auto& how = uut.result().value();
    auto text = say(how.first_failure.value());
    for (const auto& x : how.other_failures)
      text += " " + say(x);
    return how.unlisted_failure_count == 0
             ? text
             : text + " +" + std::to_string(how.unlisted_failure_count);
  }
};

std::string line_of(const std::string& agent) {
  return "rank 1 (local rank 0, pid 4711) on node-" + agent
         + " exited with code 7";
}

} // namespace

TEST_CASE("rendezvous: an agent that died first is the root cause, whichever "
          "report comes first",
          "[core]") {
  auto job = fixture{};
  job.run();
  CHECK(job.at(1'000ms, job.failed("b", 5ms)) == "revoke_generation 1: a b c");
  CHECK(job.last<revoke_generation>().reason.text == line_of("b"));
  CHECK(job.at(1'010ms, job.failed("c", 100ms)) == ""); // Its report was slow.
  CHECK(job.uut.last_failure()->agent == agent_id{"c"});
  CHECK(job.uut.waiting_for()
        == "3 nodes stop their workers of generation 1 (" + line_of("c") + ")");
  job.at(1'020ms, job.stopped("a", 1));
  job.at(1'020ms, job.stopped("b", 1));
  CHECK(
    job.at(1'020ms, job.stopped("c", 1))
    == "explain_failures 1: c/0 +1; announce_generation 2: a=0+1 b=1+1 c=2+1");
  CHECK(job.last<announce_generation>().reason == line_of("c"));
  CHECK(job.last<explain_failures>().first.agent == agent_id{"c"});
  CHECK(job.uut.budget().restart_count() == 1);
  CHECK(job.uut.last_failure()->agent == agent_id{"c"});
}

TEST_CASE("rendezvous: the outcome lists failures as they happened", "[core]") {
  auto job = fixture{};
  job.run();
  job.at(10ms, job.failed("c", 1ms)); // Spends the only restart.
  for (const auto* agent : {"a", "b", "c"})
    job.at(10ms, job.stopped(agent, 1));
  const auto second = [](const std::string& agent, duration age) {
    return worker_failed{{agent}, {2}, aged_failure(agent, age)};
  };
  job.at(1'000ms, second("b", 5ms));
  job.at(1'010ms, second("c", 100ms));
  job.at(1'020ms,
         workers_stopped{{"c"}, {2}, 0, {{aged_failure("c", 50ms, 3)}, 1}});
  job.at(1'030ms, second("a", 30ms));
  job.at(1'030ms, job.stopped("b", 2));
  CHECK(job.at(1'030ms, job.stopped("a", 2))
        == "explain_failures 2: c/0 +4; end_job failed: a b c; arm_timer 5");
  CHECK(job.causes() == "c0:120 c3:60 b0:35 a0:30 +1");
  CHECK(job.uut.result()->reason == line_of("c"));
}

TEST_CASE("rendezvous: a failure reported too late may be the root cause",
          "[core]") {
  auto job = fixture{};
  job.run();
  job.at(1'000ms, job.failed("b", 0ms));
  job.at(1'010ms, job.stopped("b", 1));
  job.at(1'010ms, job.stopped("c", 1));
  CHECK(
    job.at(1'050ms, job.stopped_with("a", {{aged_failure("a", 60ms, 1)}, 0}))
    == "explain_failures 1: a/1 +1; announce_generation 2: a=0+1 b=1+1 c=2+1");
  CHECK(job.uut.last_failure()->agent == agent_id{"a"});
}

TEST_CASE("rendezvous: an agent that has stopped fails no more", "[core]") {
  auto job = fixture{};
  job.run();
  job.at(1'000ms, job.failed("b", 0ms));
  job.at(1'010ms, job.stopped("c", 1));
  CHECK(job.at(1'020ms, job.failed("c", 100ms)) == "");
  CHECK(job.uut.last_failure()->agent == agent_id{"b"});
  job.at(1'030ms, job.stopped("a", 1));
  CHECK(job.at(1'030ms, job.stopped("b", 1))
        == "announce_generation 2: a=0+1 b=1+1 c=2+1");
}

TEST_CASE("rendezvous: once settled the root cause does not change", "[core]") {
  auto job = fixture{};
  job.run();
  job.at(1'000ms, job.failed("b", 0ms));
  for (const auto* agent : {"a", "b", "c"})
    job.at(1'000ms, job.stopped(agent, 1));
  CHECK(job.at(1'010ms, job.failed("c", 900ms)) == "");
  CHECK(job.at(1'010ms, job.stopped_with("c", {{aged_failure("c", 900ms)}, 0}))
        == "");
  CHECK(job.uut.last_failure()->agent == agent_id{"b"});
  job.at(1'020ms, worker_failed{{"a"}, {2}, aged_failure("a", 0ms)});
  CHECK(job.uut.last_failure()->agent == agent_id{"a"});
}

TEST_CASE("rendezvous: an agent without a link reports its failure later",
          "[core]") {
  auto job = fixture{};
  job.run();
  const auto plan = job.plan_of("c");
  job.at(900ms, job.disconnect("c"));
  job.at(1'000ms, job.failed("b", 0ms));
  auto back = job.rejoin("c", plan, share_state::failed);
  back.held->failure->age = 300ms;
  CHECK(job.at(1'100ms, back) == "accept_agent c; revoke_generation 1: c");
  CHECK(job.uut.last_failure()->agent == agent_id{"c"});
  job.at(1'100ms, job.stopped("a", 1));
  job.at(1'100ms, job.stopped("b", 1));
  CHECK(
    job.at(1'100ms, job.stopped("c", 1))
    == "explain_failures 1: c/0 +1; announce_generation 2: a=0+1 b=1+1 c=2+1");
}

TEST_CASE("rendezvous: a failure is that of the agent that reports it",
          "[core]") {
  auto job = fixture{};
  job.run();
  auto event = job.failed("b", 0ms);
  event.failure.agent = {"another"};
  job.at(1s, event);
  CHECK(job.uut.last_failure()->agent == agent_id{"b"});
}

TEST_CASE("rendezvous: the list of failures has a limit, the count none",
          "[core]") {
  for (const auto extra : {0u, 1u}) {
    auto job = rendezvous_fixture{{1, 1, 0}};
    auto join = job.join("a", 32);
    job.at(0ms, join);
    REQUIRE(job.uut.generation() == generation_id{1});
    job.at(0ms, job.started("a", 1));
    job.at(10ms, worker_failed{{"a"}, {1}, aged_failure("a", 0ms)});
    auto others = collateral{};
    for (uint32_t i = 1; i <= other_failures_max + extra; ++i)
      others.add(aged_failure("a", 0ms, i));
    job.at(20ms, workers_stopped{{"a"}, {1}, 0, others});
    REQUIRE(job.uut.result());
    CHECK(job.uut.result()->other_failures.size() == other_failures_max);
    CHECK(job.uut.result()->unlisted_failure_count == extra);
  }
}

// -- exemptions --------------------------------------------------------------

TEST_CASE("rendezvous: only the root cause can be exempt", "[core]") {
  auto job = fixture{};
  job.run();
  job.at(1'000ms, job.failed("b", 0ms));
  CHECK(job.at(1'010ms, job.failed("c", 50ms)) == "");
  job.at(1'020ms, job.left("c")); // It failed first, and by itself.
  job.at(1'030ms, job.stopped("a", 1));
  CHECK(job.at(1'030ms, job.stopped("b", 1))
        == "explain_failures 1: c/0 +1; announce_generation 2: a=0+1 b=1+1");
  CHECK(job.uut.budget().restart_count() == 1);
  CHECK(job.last<explain_failures>().exemption.empty());
  CHECK(job.last<announce_generation>().reason == line_of("c"));
}

TEST_CASE("rendezvous: an exemption holds for failures reported after it",
          "[core]") {
  auto job = fixture{};
  job.run();
  job.at(1'000ms, job.failed("b", 0ms));
  job.at(1'010ms, job.left("c"));
  CHECK(job.at(1'020ms, job.failed("a", 50ms)) == "");
  CHECK(job.uut.waiting_for()
        == "2 nodes stop their workers of generation 1 (agent c left)");
  job.at(1'030ms, job.stopped("b", 1));
  CHECK(job.at(1'030ms, job.stopped("a", 1))
        == "explain_failures 1: a/0 +1, exempt; announce_generation 2: a=0+1 "
           "b=1+1");
  CHECK(job.last<explain_failures>().exemption.text == "agent c left");
  CHECK(job.uut.budget().restart_count() == 0);
}

TEST_CASE("rendezvous: the last agent that is awaited may exempt, too",
          "[core]") {
  auto job = fixture{};
  job.run();
  job.at(1'000ms, job.failed("b", 0ms));
  job.at(1'010ms, job.stopped("a", 1));
  job.at(1'010ms, job.stopped("b", 1));
  CHECK(job.at(1'020ms, job.left("c"))
        == "forget_agent c; explain_failures 1: b/0, exempt; "
           "announce_generation 2: a=0+1 b=1+1");
  CHECK(job.last<announce_generation>().reason == "agent c left");
}

TEST_CASE("rendezvous: an agent that failed first and left exempts no failure, "
          "another may",
          "[core]") {
  auto job = fixture{};
  job.run();
  job.at(1'000ms, job.failed("c", 0ms));
  job.at(1'010ms, job.left("c"));
  job.at(1'020ms, job.leaving("b"));
  job.at(1'030ms, job.stopped("b", 1));
  job.at(1'030ms, job.stopped("a", 1));
  REQUIRE(job.uut.current_phase() == fixture::phase::gathering);
  CHECK(job.last<explain_failures>().exemption.text == "agent b leaves");
  CHECK(job.uut.budget().restart_count() == 0);
}

TEST_CASE("rendezvous: one exemption does not serve two generations",
          "[core]") {
  auto job = fixture{};
  job.run();
  job.at(1'000ms, job.leaving("c")); // The generation ends for that reason.
  job.at(1'000ms, job.left("c"));
  job.at(1'000ms, job.stopped("a", 1));
  REQUIRE(job.at(1'000ms, job.stopped("b", 1))
          == "announce_generation 2: a=0+1 b=1+1");
  job.at(2'000ms, worker_failed{{"a"}, {2}, aged_failure("a", 0ms)});
  job.at(2'000ms, job.stopped("a", 2));
  job.at(2'000ms, job.stopped("b", 2));
  CHECK(job.uut.budget().restart_count() == 1);
}

TEST_CASE(
  "rendezvous: a departure between two generations exempts nothing in the "
  "next",
  "[core]") {
  auto job = fixture{};
  job.run();
  for (const auto* agent : {"b", "c"})
    job.at(1s, job.left(agent));
  job.at(1s, job.stopped("a", 1));
  REQUIRE(job.uut.current_phase() == fixture::phase::gathering);
  job.at(2s, job.left("a"));
  for (const auto* agent : {"d", "e", "f"})
    job.at(3s, job.join(agent));
  REQUIRE(job.uut.generation() == generation_id{2});
  job.at(4s, worker_failed{{"d"}, {2}, aged_failure("d", 0ms)});
  for (const auto* agent : {"d", "e", "f"})
    job.at(5s, job.stopped(agent, 2));
  CHECK(job.uut.budget().restart_count() == 1);
}

// -- a successor --------------------------------------------------------------

TEST_CASE("rendezvous: a successor finds the root cause, too", "[core]") {
  auto first = fixture{};
  first.run();
  auto job = fixture{};
  job.at(0ms, coordinator_started{true});
  for (const auto* agent : {"a", "b", "c"}) {
    auto back = job.rejoin(agent, first.plan_of(agent), share_state::failed);
    back.held->failure->age = agent == std::string{"b"} ? 500ms : 100ms;
    job.at(100ms, back);
  }
  CHECK(job.at(1'200ms, job.fire(1)) == "revoke_generation 1: a b c");
  CHECK(job.last<revoke_generation>().reason.text == line_of("b"));
  CHECK(job.uut.last_failure()->agent == agent_id{"b"});
}

TEST_CASE(
  "rendezvous: an agent that is missing after a recovery exempts failures",
  "[core]") {
  auto first = fixture{};
  first.run();
  auto job = fixture{};
  job.at(0ms, coordinator_started{true});
  job.at(100ms, job.rejoin("a", first.plan_of("a"), share_state::running));
  job.at(100ms, job.rejoin("b", first.plan_of("b"), share_state::failed));
  CHECK(job.at(1'200ms, job.fire(1)) == "revoke_generation 1: a b");
  job.at(1'300ms, job.stopped("a", 1));
  CHECK(
    job.at(1'300ms, job.stopped("b", 1))
    == "explain_failures 1: b/0, exempt; announce_generation 2: a=0+1 b=1+1");
  CHECK(job.last<announce_generation>().reason
        == "2 of 3 agents of generation 1 came back to the new coordinator");
  CHECK(job.uut.budget().restart_count() == 0);
}

TEST_CASE("rendezvous: an agent that is missing after a recovery does not "
          "exempt its own failure",
          "[core]") {
  for (const auto is_c_missing : {false, true}) {
    CAPTURE(is_c_missing);
    auto first = fixture{};
    first.run();
    auto job = fixture{};
    job.at(0ms, coordinator_started{true});
    job.at(100ms, job.rejoin("b", first.plan_of("b"), share_state::failed));
    job.at(200ms, agent_left{agent_id{"b"}});
    job.at(300ms, job.rejoin("a", first.plan_of("a"), share_state::running));
    if (!is_c_missing)
      job.at(300ms, job.rejoin("c", first.plan_of("c"), share_state::running));
    job.at(1'300ms, job.fire(1));
    if (is_c_missing) {
      job.at(1'350ms, job.disconnect("a"));
      job.at(1'360ms,
             job.rejoin("a", first.plan_of("a"), share_state::stopping));
      CHECK(
        job.last<revoke_generation>().reason.text
        == "1 of 3 agents of generation 1 came back to the new coordinator");
    }
    job.at(1'400ms, job.stopped("a", 1));
    if (!is_c_missing)
      job.at(1'400ms, job.stopped("c", 1));
    CHECK(job.uut.budget().restart_count() == (is_c_missing ? 0 : 1));
  }
}

TEST_CASE("rendezvous: an agent that is missing after a recovery exempts a "
          "failure before its own",
          "[core]") {
  auto first = fixture{};
  first.run();
  auto job = fixture{};
  job.at(0ms, coordinator_started{true});
  job.at(100ms, job.rejoin("b", first.plan_of("b"), share_state::failed));
  job.at(200ms, agent_left{agent_id{"b"}});
  job.at(300ms, job.rejoin("a", first.plan_of("a"), share_state::running));
  job.at(300ms, job.rejoin("c", first.plan_of("c"), share_state::running));
  CHECK(job.at(1'200ms, job.fire(1)) == "revoke_generation 1: a c");
  job.at(1'300ms, fixture::failed("a", 1'250ms));
  job.at(1'400ms, job.stopped("a", 1));
  CHECK(job.at(1'400ms, job.stopped("c", 1))
        == "explain_failures 1: a/0 +1, exempt; announce_generation 2: a=0+1 "
           "c=1+1");
  CHECK(job.uut.budget().restart_count() == 0);
}

TEST_CASE("rendezvous: an agent that wants to leave while a successor listens "
          "exempts the others' failures",
          "[core]") {
  auto first = fixture{};
  first.run();
  auto job = fixture{};
  job.at(0ms, coordinator_started{true});
  auto is_exempt = true;
  job.at(100ms, job.rejoin("c", first.plan_of("c"), share_state::running));
  job.at(100ms, job.rejoin("a", first.plan_of("a"), share_state::failed));
  job.at(200ms, job.rejoin("b", first.plan_of("b"), share_state::stopping));
  SECTION("a member") {
    job.at(300ms, job.leaving("c"));
  }
  SECTION("a member that hangs is sent away") {
    job.at(300ms, workers_stopped{{"b"}, {1}, 0, {}, 1});
    is_exempt = false;
  }
  SECTION("a member whose work is done") {
    job.at(300ms, workers_succeeded{{"c"}, {1}});
    job.at(300ms, job.leaving("c"));
    is_exempt = false;
  }
  SECTION("one that takes no part") {
    job.at(300ms, job.join("d"));
    job.at(300ms, job.leaving("d"));
    is_exempt = false;
  }
  CHECK(job.at(1'200ms, job.fire(1)) != "");
  auto reason = std::string{};
  for (const auto* agent : {"a", "b", "c"})
    if (job.at(1'300ms, job.stopped(agent, 1)).find("announce_generation")
        != std::string::npos)
      reason = job.last<announce_generation>().reason;
  CHECK(job.uut.budget().restart_count() == (is_exempt ? 0 : 1));
  CHECK((reason == "agent c leaves") == is_exempt);
}

// -- agents that come back with a failure although their workers have stopped -

TEST_CASE("rendezvous: a failure before a stop without a link counts",
          "[core]") {
  for (const auto state : {share_state::idle, share_state::stopping}) {
    CAPTURE(to_string(state));
    auto job = fixture{};
    job.run();
    job.at(900ms, job.disconnect("b"));
    auto back = job.rejoin("b", job.plan_of("b"), state);
    back.held->failure = aged_failure("b", 10ms);
    CHECK(job.at(1'000ms, back)
            .starts_with("accept_agent b; revoke_generation 1: "));
    CHECK(job.last<revoke_generation>().reason.text == line_of("b"));
    CHECK(job.uut.current_phase() == fixture::phase::stopping);
    for (const auto* agent : {"a", "b", "c"})
      job.at(1'100ms, job.stopped(agent, 1));
    CHECK(job.uut.generation() == generation_id{2});
    CHECK(job.uut.budget().restart_count() == 1);
  }
}

// Its first answer to the revocation was lost with the link.
TEST_CASE("rendezvous: an agent that was given up is ordered again to stop",
          "[core]") {
  struct row {
    share_state state;
    std::string answer;
  };
  const row rows[] = {
    {share_state::running, "accept_agent b; revoke_generation 1: b"},
    {share_state::failed, "accept_agent b; revoke_generation 1: b"},
    {share_state::stopping, "accept_agent b; revoke_generation 1: b"},
    {share_state::idle, "accept_agent b; arm_timer 6; arm_timer 7"},
  };
  for (const auto& x : rows) {
    CAPTURE(to_string(x.state));
    auto job = fixture{};
    job.run();
    const auto old = job.plan_of("b");
    job.at(1s, job.leaving("c"));
    for (const auto* agent : {"c", "b", "a"})
      job.at(1s, job.left(agent));
    REQUIRE(job.uut.current_phase() == fixture::phase::gathering);
    job.at(1s, job.join("a"));
    REQUIRE(job.at(2s, job.rejoin("b", old, share_state::running))
            == "accept_agent b; revoke_generation 1: b");
    job.at(2s, job.disconnect("b"));
    CHECK(job.at(3s, job.rejoin("b", old, x.state)) == x.answer);
    CHECK(
      job.uut.agents().at({"b"}).holds
      == (x.state == share_state::idle ? generation_id{} : generation_id{1}));
  }
}

// It repeats what it has reported, in case that was lost.
TEST_CASE("rendezvous: a settled generation's failures are not the next one's",
          "[core]") {
  auto job = rendezvous_fixture{{2, 2, 3}};
  job.at(0s, job.join("a"));
  REQUIRE(
    job.at(0s, job.join("b")).ends_with("announce_generation 1: a=0+1 b=1+1"));
  const auto old = job.plan_of("b");
  auto other = fixture::failure_of("b");
  other.local_rank = 3;
  const auto report = workers_stopped{{"b"}, {1}, 0, {{other}, 0}};
  job.at(1s, job.failed("b", 1));
  job.at(1s, report);
  job.at(1s, job.disconnect("b"));
  REQUIRE(job.at(1s, job.stopped("a", 1)).starts_with("explain_failures 1:"));
  REQUIRE(job.at(2s, job.rejoin("b", old, share_state::failed))
          == "accept_agent b; revoke_generation 1: b");
  job.at(2s, job.failed("b", 1));
  REQUIRE(job.at(2s, report) == "announce_generation 2: a=0+1 b=1+1");
  job.at(3s, job.failed("a", 2));
  CHECK(job.uut.last_failure()->agent == agent_id{"a"});
  job.at(3s, job.stopped("b", 2));
  CHECK(job.at(3s, job.stopped("a", 2))
        == "announce_generation 3: a=0+1 b=1+1");
}

} // namespace actorrun::test::rendezvous_causes_test
