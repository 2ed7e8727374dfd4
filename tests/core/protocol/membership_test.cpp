// How an agent obeys generations, and how it ends.
#include "tests/support/membership_fixture.hpp"

namespace actorrun::test::membership_test {

using fixture = membership_fixture;

// -- generations
// -------------------------------------------------------------------

TEST_CASE_METHOD(fixture, "membership: a generation starts, runs and succeeds",
                 "[core]") {
  be_in();
  CHECK(at(0s, formed(1)) == "set_fence; start_group 1");
  CHECK(fence() == 900ms);
  CHECK(last<start_group>().plan == plan(1));
  CHECK(uut.plan() == plan(1));
  CHECK(uut.share() == share_state::starting);
  CHECK(at(0s, started(1)) == "send_started 1");
  CHECK(uut.share() == share_state::running);
  CHECK(at(0s, succeeded(1)) == "send_succeeded 1");
  CHECK(uut.share() == share_state::succeeded);
}

TEST_CASE_METHOD(fixture,
                 "membership: a plan that cannot be ours ends the agent",
                 "[core]") {
  be_in();
  auto bad = formed(1);
  bad.plan.own.slot_count = 127;
  bad.plan.world_size = 129;
  bad.plan.own.role_world_size = 129;
  CHECK(at(0s, bad) == "send_left; arm_timer 5");
  CHECK(uut.share() == share_state::idle);
  at(1ms, coordinator_disconnected{});
  const auto& how = last<finish>().how;
  REQUIRE(how.why);
  CHECK(how.why->code == errc::bad_plan);
  CHECK(
    how.why->text
    == "the plan of generation 1 starts 127 workers where the node offers 2");
}

TEST_CASE_METHOD(fixture,
                 "membership: a plan that cannot be ours stops what runs",
                 "[core]") {
  run();
  auto bad = formed(2);
  bad.plan.own.agent = {"b"};
  CHECK(at(0s, bad) == "stop_group 1");
  CHECK(at(1ms, bad) == ""); // It ends already.
}

TEST_CASE_METHOD(fixture, "membership: workers may succeed before all start",
                 "[core]") {
  be_in();
  at(0s, formed(1));
  CHECK(at(0s, succeeded(1)) == "send_succeeded 1");
}

TEST_CASE_METHOD(fixture,
                 "membership: a failure is reported, and stops the rest",
                 "[core]") {
  run();
  CHECK(at(0s, failed(1)) == "send_failed 1; stop_group 1");
  CHECK(last<send_failed>().failure == failure_by(failure_kind::exited, 1));
  CHECK(last<stop_group>().signal == 0);
  CHECK(at(0s, revoked(1)) == ""); // Already being stopped.
  CHECK(at(1ms, stopped(1)) == "send_stopped 1");
  CHECK(uut.share() == share_state::idle);
  CHECK(at(2ms, formed(2)) == "set_fence; start_group 2");
}

TEST_CASE_METHOD(fixture, "membership: a failure stays until it is answered",
                 "[core]") {
  run();
  at(0s, failed(1));
  CHECK(at(1ms, stopped(1)) == "send_stopped 1");
  CHECK(uut.share() == share_state::failed);
  CHECK(at(2ms, revoked(1)) == "send_stopped 1");
  CHECK(uut.share() == share_state::idle);
}

TEST_CASE_METHOD(fixture, "membership: a revoked generation is stopped",
                 "[core]") {
  run();
  CHECK(at(0s, revoked(1)) == "stop_group 1");
  CHECK(last<stop_group>().signal == 0);
  CHECK(uut.share() == share_state::stopping);
  CHECK(at(1ms, stopped(1)) == "send_stopped 1");
}

TEST_CASE_METHOD(
  fixture,
  "membership: workers of a generation that is over get no grace "
  "period",
  "[core]") {
  run();
  CHECK(at(0s, generation_revoked{{1}, true}) == "kill_group 1");
  CHECK(uut.share() == share_state::stopping);
  CHECK(at(1ms, stopped(1)) == "send_stopped 1");
}

TEST_CASE_METHOD(fixture, "membership: a plan that arrives twice is begun once",
                 "[core]") {
  be_in();
  CHECK(at(0s, formed(1)) == "set_fence; start_group 1");
  CHECK(at(0s, formed(1)) == "");
}

TEST_CASE_METHOD(fixture,
                 "membership: a plan that arrives twice while old workers end "
                 "is begun once",
                 "[core]") {
  run();
  CHECK(at(0s, formed(3)) == "kill_group 1");
  CHECK(at(0s, formed(3)) == "");
  CHECK(at(0s, formed(2)) == "send_stopped 2"); // An older one is refused.
  CHECK(at(0s, stopped(1)) == "send_stopped 1; set_fence; start_group 3");
}

TEST_CASE_METHOD(fixture,
                 "membership: a plan that comes again after its revocation is "
                 "refused",
                 "[core]") {
  run();
  at(0s, formed(2));
  at(0s, revoked(2));
  CHECK(at(0s, formed(2)) == "send_stopped 2");
}

TEST_CASE_METHOD(fixture,
                 "membership: workers of a generation that is over keep their "
                 "failure",
                 "[core]") {
  run();
  at(0s, failed(1));
  CHECK(at(0s, generation_revoked{{1}, true}) == "kill_group 1");
  CHECK(uut.share() == share_state::failed);
}

TEST_CASE_METHOD(fixture, "membership: the next generation gets a fresh port",
                 "[core]") {
  run();
  at(0s, revoked(1));
  at(0s, stopped(1, 31000));
  CHECK(last<send_stopped>().master_port == 31000);
  CHECK(uut.offering().master_port == 31000);
  at(0s, formed(2));
  at(0s, revoked(2));
  at(0s, stopped(2)); // No new port: the old one stays.
  CHECK(last<send_stopped>().master_port == 31000);
}

TEST_CASE_METHOD(fixture,
                 "membership: workers that end by themselves count as stopped",
                 "[core]") {
  run();
  at(0s, revoked(1));
  CHECK(at(0s, succeeded(1)) == "send_stopped 1");
  CHECK(uut.share() == share_state::idle);
}

TEST_CASE_METHOD(fixture,
                 "membership: two generations never run at the same time",
                 "[core]") {
  run();
  CHECK(at(0s, formed(2)) == "kill_group 1");
  CHECK(uut.share() == share_state::stopping);
  CHECK(uut.plan() == plan(1));
  CHECK(at(0s, stopped(1)) == "send_stopped 1; set_fence; start_group 2");
  CHECK(uut.plan() == plan(2));
}

TEST_CASE_METHOD(fixture, "membership: only the newest generation starts",
                 "[core]") {
  run();
  at(0s, formed(2));
  CHECK(at(0s, formed(3)) == "kill_group 1");
  CHECK(at(0s, stopped(1)) == "send_stopped 1; set_fence; start_group 3");
}

TEST_CASE_METHOD(fixture,
                 "membership: a generation may be over before it starts",
                 "[core]") {
  run();
  at(0s, formed(2));
  CHECK(at(0s, revoked(2)) == "");
  CHECK(at(0s, stopped(1)) == "send_stopped 1; send_stopped 2");
  CHECK(uut.share() == share_state::idle);
}

TEST_CASE_METHOD(
  fixture, "membership: an older revocation does not end a newer generation",
  "[core]") {
  run();
  at(0s, formed(2));
  CHECK(at(0s, revoked(1)) == "");
  CHECK(at(0s, stopped(1)) == "send_stopped 1; set_fence; start_group 2");
}

TEST_CASE_METHOD(fixture,
                 "membership: a revoked generation does not start later",
                 "[core]") {
  be_in();
  CHECK(at(0s, revoked(3)) == "send_stopped 3"); // Faster than its plan.
  CHECK(at(0s, formed(3)) == "send_stopped 3");  // Or it is waited for.
  CHECK(at(0s, formed(2)) == "send_stopped 2");
  CHECK(at(0s, formed(4)) == "set_fence; start_group 4");
}

TEST_CASE_METHOD(
  fixture, "membership: what belongs to an older generation leaves the workers",
  "[core]") {
  be_in();
  at(0s, formed(3));
  at(0s, started(3));
  CHECK(at(0s, revoked(2)) == "send_stopped 2");
  CHECK(uut.share() == share_state::running);
  CHECK(at(0s, formed(2)) == "send_stopped 2");
  CHECK(uut.share() == share_state::running);
}

// -- the end ------------------------------------------------------------------

TEST_CASE_METHOD(fixture, "membership: an agent that parts answers no plan",
                 "[core]") {
  be_in();
  at(0s, formed(3));
  at(0s, started(3));
  at(0s, succeeded(3));
  at(0s, ended());
  REQUIRE(uut.current_link() == link::parting);
  CHECK(at(0s, formed(2)) == "");
}

TEST_CASE_METHOD(fixture, "membership: a job that ended ends the agent",
                 "[core]") {
  run();
  at(0s, succeeded(1));
  CHECK(at(0s, ended()) == "send_left; arm_timer 5");
  CHECK(uut.current_link() == link::parting);
  CHECK(due(5) == 900ms);
  CHECK(at(1ms, coordinator_disconnected{}) == "finish succeeded");
  CHECK(last<finish>().how.result == ended().result);
  CHECK(uut.current_link() == link::finished);
}

TEST_CASE_METHOD(fixture,
                 "membership: U2 success without this node's workers is not its"
                 " own",
                 "[core]") {
  SECTION("who never ran anything says so") {
    be_in();
    at(0s, ended());
    at(1ms, coordinator_disconnected{});
    const auto& how = last<finish>().how;
    CHECK(how.result == ended().result);
    REQUIRE(how.why);
    CHECK(how.why->code == errc::job_over);
    CHECK(how.why->text.ends_with("stood by: nothing was run here"));
  }
  SECTION("and so does who ran in a generation before") {
    run();
    at(0s, revoked(1));
    at(0s, stopped(1));
    at(1s, ended());
    at(1s, coordinator_disconnected{});
    REQUIRE(last<finish>().how.why);
    CHECK(last<finish>().how.why->text.ends_with("had no part in that"));
  }
  SECTION("but not who was leaving") {
    run();
    at(0s, leave_requested{SIGTERM});
    at(0s, ended());
    at(0s, stopped(1));
    at(1s, coordinator_disconnected{});
    CHECK_FALSE(last<finish>().how.why);
  }
  SECTION("nor whose workers have succeeded") {
    run();
    at(0s, succeeded(1));
    at(0s, ended());
    at(1s, coordinator_disconnected{});
    CHECK_FALSE(last<finish>().how.why);
  }
  SECTION("a job that has failed is told as it is") {
    be_in();
    at(0s, job_ended{outcome{.kind = outcome::verdict::failed, .reason = "x"}});
    at(1ms, coordinator_disconnected{});
    CHECK_FALSE(last<finish>().how.why);
  }
}

TEST_CASE_METHOD(fixture,
                 "membership: W6 who gives up after its workers have succeeded"
                 " says so",
                 "[core]") {
  run();
  at(0s, succeeded(1));
  at(1s, coordinator_disconnected{});
  at(61s, fire(5));
  REQUIRE(last<finish>().how.why);
  CHECK(last<finish>().how.why->code == errc::coordinator_lost);
  CHECK(last<finish>().how.why->text.find("workers of this node have succeeded")
        != std::string::npos);
}

TEST_CASE_METHOD(fixture, "membership: it waits only briefly for an answer",
                 "[core]") {
  be_in();
  at(0s, ended());
  CHECK(at(900ms, fire(4)) == ""); // Nothing runs that could be fenced.
  CHECK(at(900ms, fire(5)) == "finish succeeded");
  CHECK(at(901ms, coordinator_disconnected{}) == ""); // It finishes once.
}

TEST_CASE_METHOD(fixture, "membership: the outcome counts once", "[core]") {
  be_in();
  at(0s, ended());
  CHECK(at(1ms, ended()) == "");
  CHECK(uut.current_link() == link::parting);
}

TEST_CASE_METHOD(fixture, "membership: workers that run are stopped at the end",
                 "[core]") {
  run();
  CHECK(at(0s, ended()) == "stop_group 1");
  CHECK(at(0s, ended()) == "");
  CHECK(at(1s, stopped(1)) == "send_stopped 1; send_left; arm_timer 5");
}

TEST_CASE_METHOD(fixture, "membership: an agent leaves in good order",
                 "[core]") {
  run();
  CHECK(at(0s, leave_requested{SIGTERM}) == "send_leaving; stop_group 1");
  CHECK(last<send_leaving>().signal == SIGTERM);
  CHECK(last<stop_group>().signal == SIGTERM);
  CHECK(at(1s, stopped(1)) == "send_stopped 1; send_left; arm_timer 5");
  CHECK(at(1s, coordinator_disconnected{}) == "finish signal 15");
  CHECK(last<finish>().how == ending{{}, {}, SIGTERM});
}

TEST_CASE_METHOD(fixture, "membership: the second request to leave kills",
                 "[core]") {
  run();
  at(0s, leave_requested{SIGINT});
  CHECK(at(1s, leave_requested{SIGINT}) == "kill_group 1");
  CHECK(at(1s, leave_requested{SIGINT}) == "kill_group 1");
  at(1s, stopped(1));
  CHECK(at(1s, leave_requested{SIGINT}) == "");
}

TEST_CASE_METHOD(fixture,
                 "membership: the first request kills no workers, also if the "
                 "job has just ended",
                 "[core]") {
  run();
  CHECK(at(0s, ended()) == "stop_group 1");
  CHECK(at(0s, leave_requested{SIGTERM}) == "");
  CHECK(at(1s, leave_requested{SIGTERM}) == "kill_group 1");
}

TEST_CASE_METHOD(fixture, "membership: the outcome counts more than the signal",
                 "[core]") {
  run();
  at(0s, leave_requested{SIGTERM});
  CHECK(at(0s, ended()) == "");
  at(1s, stopped(1));
  CHECK(at(1s, coordinator_disconnected{}) == "finish succeeded");
}

TEST_CASE_METHOD(fixture, "membership: the outcome may come while parting",
                 "[core]") {
  be_in();
  CHECK(at(0s, leave_requested{SIGTERM})
        == "send_leaving; send_left; arm_timer 5");
  CHECK(at(0s, ended()) == "finish succeeded");
}

TEST_CASE_METHOD(fixture, "membership: an agent that leaves starts nothing",
                 "[core]") {
  run();
  at(0s, leave_requested{SIGTERM});
  CHECK(at(0s, formed(2)) == "send_stopped 2");
  CHECK(at(0s, revoked(2)) == "");
  CHECK(at(0s, stopped(1))
        == "send_stopped 1; send_stopped 2; send_left; arm_timer 5");
}

TEST_CASE_METHOD(fixture, "membership: leaving forgets the generation to come",
                 "[core]") {
  run();
  at(0s, formed(2));
  CHECK(at(0s, leave_requested{SIGTERM}) == "send_leaving");
  CHECK(at(0s, stopped(1))
        == "send_stopped 1; send_stopped 2; send_left; arm_timer 5");
}

TEST_CASE_METHOD(fixture,
                 "membership: an agent beside its coordinator ends at "
                 "once",
                 "[core]") {
  join();
  CHECK(at(0s, accepted_here()) == "");
  CHECK(at(0s, formed(1)) == "set_fence; start_group 1");
  CHECK(last<set_fence>().due == time_point::max());
  at(0s, started(1));
  CHECK(at(1h, succeeded(1)) == "send_succeeded 1");
  CHECK(at(1h, ended()) == "send_left; finish succeeded");
}

// -- every event in every state of the share ----------------------------------

namespace {

enum class state { idle, starting, running, succeeded, failed, gone, stopping };

/// Generation 2, in the states of `share_state`; `gone`: failed, and all ended.
void bring(fixture& agent, state x) {
  agent.be_in();
  agent.at(0s, agent.formed(2));
  if (x != state::starting)
    agent.at(0s, agent.started(2));
  if (x == state::succeeded)
    agent.at(0s, agent.succeeded(2));
  if (x == state::failed || x == state::gone)
    agent.at(0s, agent.failed(2));
  if (x == state::stopping || x == state::idle)
    agent.at(0s, agent.revoked(2));
  if (x == state::gone || x == state::idle)
    agent.at(0s, agent.stopped(2));
}

struct row {
  const char* name;
  membership_event event;
  // idle, starting, running, succeeded, failed, gone, stopping
  std::vector<std::string> answers;
};

std::vector<std::string> always(const std::string& answer) {
  return {7, answer};
}

void check(const std::vector<row>& rows) {
  for (const auto& x : rows) {
    REQUIRE(x.answers.size() == 7);
    for (size_t i = 0; i < x.answers.size(); ++i) {
      CAPTURE(x.name, i);
      auto agent = fixture{};
      bring(agent, state(i));
      CHECK(agent.at(1ms, x.event) == x.answers[i]);
    }
  }
}

} // namespace

TEST_CASE("membership: every message of the coordinator has its answer",
          "[core]") {
  const auto begin = std::string{"set_fence; start_group 3"};
  const auto kill = std::string{"kill_group 2"};
  const auto stop = std::string{"stop_group 2"};
  const auto part = std::string{"send_left; arm_timer 5"};
  check({
    {"newer generation",
     fixture::formed(3),
     {begin, kill, kill, begin, kill, begin, kill}},
    {"same generation", fixture::formed(2), always("")},
    {"older generation", fixture::formed(1), always("send_stopped 1")},
    {"newer revoked",
     fixture::revoked(3),
     {"send_stopped 3", stop, stop, "send_stopped 3", "", "send_stopped 3",
      ""}},
    {"same revoked",
     fixture::revoked(2),
     {"send_stopped 2", stop, stop, "send_stopped 2", "", "send_stopped 2",
      ""}},
    {"older revoked", fixture::revoked(1), always("send_stopped 1")},
    {"job ended", // Those that were to park are to end now.
     fixture::ended(),
     {part, stop, stop, part, stop, part, stop}},
    {"accepted again", fixture::accepted(), always("")},
    {"rejected late", fixture::rejected(), always("")},
    {"found again", coordinator_found{}, always("")},
    {"not found", fixture::not_found(errc::connection_refused), always("")},
  });
}

TEST_CASE("membership: every event of the worker group has its answer",
          "[core]") {
  const auto failed = std::string{"send_failed 2; stop_group 2"};
  const auto done = std::string{"send_succeeded 2"};
  const auto part = std::string{"send_leaving; send_left; arm_timer 5"};
  const auto stop = std::string{"send_leaving; stop_group 2"};
  check({
    {"started",
     fixture::started(2),
     {"", "send_started 2", "", "", "", "", ""}},
    {"failed", fixture::failed(2), {"", failed, failed, "", "", "", ""}},
    {"succeeded",
     fixture::succeeded(2),
     {"", done, done, "", "", "", "send_stopped 2"}},
    {"stopped", fixture::stopped(2), always("send_stopped 2")},
    {"older started", fixture::started(1), always("")},
    {"older failed", fixture::failed(1), always("")},
    {"older succeeded", fixture::succeeded(1), always("")},
    {"older stopped", fixture::stopped(1), always("")},
    {"newer started", fixture::started(3), always("")},
    {"newer failed", fixture::failed(3), always("")},
    {"newer succeeded", fixture::succeeded(3), always("")},
    {"newer stopped", fixture::stopped(3), always("")},
    {"leave", leave_requested{15}, {part, stop, stop, part, stop, part, stop}},
  });
}

TEST_CASE("membership: the fence leaves no worker alive", "[core]") {
  const auto lone = std::string{"drop_link; arm_timer 5; arm_timer 6"};
  const auto kill = "kill_group 2; " + lone;
  const auto expected
    = std::vector<std::string>{lone, kill, kill, lone, kill, lone, kill};
  for (size_t i = 0; i < expected.size(); ++i) {
    CAPTURE(i);
    auto agent = fixture{};
    bring(agent, state(i));
    CHECK(agent.at(900ms, fixture::fire(4)) == expected[i]);
  }
}

} // namespace actorrun::test::membership_test
