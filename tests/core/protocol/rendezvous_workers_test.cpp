// Tests the effects of failures and successes of workers.
#include "tests/support/rendezvous_fixture.hpp"

#include <cerrno>

namespace actorrun::test::rendezvous_workers_test {

namespace {

struct fixture : rendezvous_fixture {
  /// Reports that all have stopped; returns the answer to the last report.
  std::string stop_all(milliseconds t, uint64_t generation) {
    at(t, stopped("a", generation));
    at(t, stopped("b", generation));
    return at(t, stopped("c", generation));
  }
};

worker_failed missing_program(const std::string& agent, uint64_t generation) {
  auto event = fixture::failed(agent, generation);
  event.failure.kind = failure_kind::not_started;
  event.failure.code = ENOENT;
  return event;
}

constexpr auto cause
  = "rank 1 (local rank 0, pid 4711) on node-b exited with code 7";

} // namespace

// -- workers fail -------------------------------------------------------------

TEST_CASE_METHOD(fixture, "rendezvous: a failure starts the group again",
                 "[core]") {
  run();
  CHECK(at(1s, failed("b", 1)) == "revoke_generation 1: a b c");
  CHECK(last<revoke_generation>().failure == failure_of("b"));
  CHECK(last<revoke_generation>().reason.text == cause);
  CHECK(uut.last_failure() == failure_of("b"));
  CHECK(uut.current_phase() == phase::stopping);
  CHECK(at(1s, stopped("b", 1)) == "");
  CHECK(at(2s, stopped("a", 1)) == "");
  CHECK(at(3s, stopped("c", 1)) == "announce_generation 2: a=0+1 b=1+1 c=2+1");
  CHECK(last<announce_generation>().plans.front().restart_count == 1);
  CHECK(last<announce_generation>().reason == cause);
  CHECK(uut.budget().restart_count() == 1);
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: one restart covers many failures of a generation",
                 "[core]") {
  run();
  at(1s, failed("b", 1));
  CHECK(at(1s, failed("a", 1)) == "");
  CHECK(at(1s, failed("c", 1)) == "");
  CHECK(
    stop_all(2s, 1)
    == "explain_failures 1: b/0 +2; announce_generation 2: a=0+1 b=1+1 c=2+1");
  CHECK(uut.budget().restart_count() == 1);
  CHECK(uut.last_failure() == failure_of("b"));
}

TEST_CASE_METHOD(fixture, "rendezvous: the job fails when the budget is spent",
                 "[core]") {
  revoke();
  stop_all(1s, 1);
  CHECK(at(2s, failed("b", 2)) == "revoke_generation 2: a b c");
  CHECK(stop_all(3s, 2) == "end_job failed: a b c; arm_timer 5");
  REQUIRE(uut.result());
  CHECK(uut.result()->first_failure == aged(failure_of("b"), 1s));
  CHECK(uut.result()->other_failures.empty());
  CHECK(uut.result()->reason == cause);
  CHECK(uut.budget().restart_count() == 1);
  CHECK(due(5) == 33s);
}

TEST_CASE_METHOD(fixture, "rendezvous: a missing program ends the job",
                 "[core]") {
  start();
  CHECK(at(1s, missing_program("b", 1)) == "revoke_generation 1: a b c");
  CHECK(stop_all(1s, 1) == "end_job failed: a b c; arm_timer 5");
  CHECK(uut.budget().restart_count() == 0);
}

TEST_CASE_METHOD(fixture, "rendezvous: it knows which agents have failed",
                 "[core]") {
  revoke();
  at(1s, failed("a", 1));
  CHECK(uut.agents().at({"a"}).share == share_state::failed);
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: workers may fail before all have started",
                 "[core]") {
  start();
  at(0s, started("a", 1));
  CHECK(at(0s, failed("a", 1)) == "revoke_generation 1: a b c");
}

TEST_CASE_METHOD(fixture, "rendezvous: a failure while stopping costs nothing",
                 "[core]") {
  run();
  at(1s, leaving("c"));
  CHECK(at(1s, failed("b", 1)) == "");
  CHECK(
    stop_all(2s, 1)
    == "explain_failures 1: b/0, exempt; announce_generation 2: a=0+1 b=1+1");
  CHECK(last<explain_failures>().exemption.text == "agent c leaves");
  CHECK(uut.budget().restart_count() == 0);
  CHECK_FALSE(uut.last_failure());
}

// -- exemptions ---------------------------------------------------------------

TEST_CASE_METHOD(fixture, "rendezvous: the end of an agent exempts failures",
                 "[core]") {
  run();
  at(1s, failed("b", 1)); // It lost its peers on c …
  at(1s, disconnect("c"));
  CHECK(at(1s, lose("c"))
        == "forget_agent c"); // … which died with their agent.
  at(2s, stopped("a", 1));
  CHECK(
    at(2s, stopped("b", 1))
    == "explain_failures 1: b/0, exempt; announce_generation 2: a=0+1 b=1+1");
  CHECK(last<explain_failures>().exemption.text
        == "agent c lost: connection refused");
  CHECK(last<announce_generation>().reason
        == "agent c lost: connection refused");
  CHECK(last<announce_generation>().plans.front().restart_count == 0);
  CHECK(uut.budget().restart_count() == 0);
}

TEST_CASE_METHOD(fixture, "rendezvous: an agent that leaves exempts failures",
                 "[core]") {
  run();
  at(1s, failed("b", 1));
  CHECK(at(1s, leaving("c", 15)) == "");
  CHECK(
    stop_all(2s, 1)
    == "explain_failures 1: b/0, exempt; announce_generation 2: a=0+1 b=1+1");
  CHECK(last<announce_generation>().reason == "agent c leaves (signal 15)");
  CHECK(uut.budget().restart_count() == 0);
}

TEST_CASE_METHOD(fixture, "rendezvous: an exemption holds for one generation",
                 "[core]") {
  run();
  at(1s, failed("b", 1));
  at(1s, left("c"));
  at(1s, stopped("a", 1));
  at(1s, stopped("b", 1));
  at(2s, failed("b", 2));
  at(2s, stopped("a", 2));
  CHECK(at(2s, stopped("b", 2)) == "announce_generation 3: a=0+1 b=1+1");
  CHECK(uut.budget().restart_count() == 1);
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: an agent's end exempts no failure of its own",
                 "[core]") {
  revoke();
  at(1s, left("b"));
  at(1s, stopped("a", 1));
  CHECK(at(1s, stopped("c", 1)) == "announce_generation 2: a=0+1 c=1+1");
  CHECK(uut.budget().restart_count() == 1); // Restarts are not refunded.
  at(2s, failed("a", 2));
  at(2s, stopped("a", 2));
  CHECK(at(2s, stopped("c", 2)) == "end_job failed: a c; arm_timer 5");
}

TEST_CASE_METHOD(fixture, "rendezvous: a missing program is never exempt",
                 "[core]") {
  start();
  at(1s, missing_program("b", 1));
  at(1s, left("c"));
  at(1s, stopped("a", 1));
  CHECK(at(1s, stopped("b", 1)) == "end_job failed: a b; arm_timer 5");
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: only the departure of members exempts failures",
                 "[core]") {
  run();
  at(1s, join("d"));
  at(1s, failed("b", 1));
  at(1s, left("d")); // A standby: no worker missed it.
  stop_all(2s, 1);
  CHECK(uut.budget().restart_count() == 1);
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: an agent that succeeded exempts no failure",
                 "[core]") {
  run();
  at(1s, succeeded("c", 1));
  at(1s, failed("b", 1));
  at(1s, left("c"));
  at(2s, stopped("a", 1));
  at(2s, stopped("b", 1));
  CHECK(uut.budget().restart_count() == 1);
}

// -- workers start and succeed ------------------------------------------------

TEST_CASE_METHOD(fixture, "rendezvous: a job runs when all workers do",
                 "[core]") {
  start();
  CHECK(at(0s, started("a", 1)) == "");
  at(0s, started("a", 1)); // Reported twice, counted once.
  at(0s, started("b", 1));
  CHECK(uut.current_phase() == phase::starting);
  at(0s, started("c", 1));
  CHECK(uut.current_phase() == phase::running);
}

TEST_CASE_METHOD(fixture, "rendezvous: the job succeeds when all workers have",
                 "[core]") {
  run();
  CHECK(at(1s, succeeded("a", 1)) == "");
  CHECK(at(1s, succeeded("c", 1)) == "");
  CHECK(at(1s, succeeded("a", 1)) == "");
  CHECK(at(2s, succeeded("b", 1)) == "end_job succeeded: a b c; arm_timer 5");
  CHECK(uut.result()->reason == "all workers of generation 1 succeeded");
}

TEST_CASE_METHOD(fixture, "rendezvous: workers may succeed before others start",
                 "[core]") {
  start();
  for (const auto* agent : {"a", "b"})
    CHECK(at(1s, succeeded(agent, 1)) == "");
  CHECK(uut.current_phase() == phase::starting);
  at(2s, started("c", 1));
  CHECK(at(2s, succeeded("c", 1)) == "end_job succeeded: a b c; arm_timer 5");
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: a start that is reported late takes no success "
                 "back",
                 "[core]") {
  start();
  at(1s, succeeded("a", 1));
  at(1s, started("a", 1));
  CHECK(uut.agents().at({"a"}).share == share_state::succeeded);
}

TEST_CASE_METHOD(fixture, "rendezvous: standbys learn of the success too",
                 "[core]") {
  run();
  at(1s, join("d"));
  for (const auto* agent : {"a", "b", "c"})
    at(2s, succeeded(agent, 1));
  CHECK(transcript(effects) == "end_job succeeded: a b c d; arm_timer 5");
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: an agent that succeeded runs again with the rest",
                 "[core]") {
  run();
  at(1s, succeeded("a", 1));
  CHECK(at(2s, failed("b", 1)) == "revoke_generation 1: b c");
  at(3s, stopped("b", 1));
  CHECK(at(3s, stopped("c", 1)) == "announce_generation 2: a=0+1 b=1+1 c=2+1");
}

TEST_CASE_METHOD(fixture, "rendezvous: success while stopping is an end too",
                 "[core]") {
  revoke();
  CHECK(at(1s, succeeded("a", 1)) == "");
  at(1s, stopped("b", 1));
  CHECK(at(1s, stopped("c", 1)) == "announce_generation 2: a=0+1 b=1+1 c=2+1");
  CHECK(at(1s, stopped("a", 1)) == ""); // It answers the revocation later.
}

// -- reports on other generations
// --------------------------------------------------

TEST_CASE_METHOD(fixture,
                 "rendezvous: reports on an older generation are ignored",
                 "[core]") {
  revoke();
  for (const auto* agent : {"a", "b", "c"})
    at(1s, stopped(agent, 1));
  REQUIRE(uut.generation() == generation_id{2});
  const rendezvous_event stale[]
    = {started("a", 1), failed("a", 1), succeeded("a", 1), stopped("a", 1)};
  for (const auto& event : stale) {
    CHECK(at(2s, event) == "");
    CHECK(uut.agents().at({"a"}).share == share_state::starting);
    CHECK(uut.agents().at({"a"}).holds == generation_id{2});
  }
  CHECK(uut.budget().restart_count() == 1);
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: reports on a future generation are ignored",
                 "[core]") {
  start();
  const rendezvous_event early[]
    = {started("a", 2), failed("a", 2), succeeded("a", 2), stopped("a", 2)};
  for (const auto& event : early) {
    CHECK(at(0s, event) == "");
    CHECK(uut.agents().at({"a"}).share == share_state::starting);
  }
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: reports on a standby's workers are ignored",
                 "[core]") {
  run();
  at(0s, join("d"));
  for (const uint64_t generation : {0u, 1u}) {
    CHECK(at(0s, started("d", generation)) == "");
    CHECK(at(0s, failed("d", generation)) == "");
    CHECK(at(0s, succeeded("d", generation)) == "");
    CHECK(at(0s, stopped("d", generation)) == "");
  }
  CHECK(uut.current_phase() == phase::running);
}

TEST_CASE_METHOD(fixture, "rendezvous: a late stop still brings its port",
                 "[core]") {
  run();
  at(0s, stopped("a", 0, 31000));
  CHECK(uut.agents().at({"a"}).offering.master_port == 31000);
  CHECK(uut.current_phase() == phase::running);
}

TEST_CASE_METHOD(
  fixture, "rendezvous: an agent that stopped without an order restarts all",
  "[core]") {
  run();
  CHECK(at(1s, stopped("b", 1)) == "revoke_generation 1: a c");
  CHECK(last<revoke_generation>().reason.text
        == "agent b stopped its workers, out of touch");
  CHECK(uut.budget().restart_count() == 0);
}

} // namespace actorrun::test::rendezvous_workers_test
