#include "actors/operator_questions.hpp"
#include "tests/actors/node_agent_fixture.hpp"

#include <csignal>

namespace actorrun::test::node_agent_test {

// -- generations
// -------------------------------------------------------------------

TEST_CASE_METHOD(node_agent_fixture,
                 "node_agent: it finds the coordinator and joins", "[actors]") {
  CHECK(locator->told() == "seek");
  CHECK(coordinator.told().empty());
  link_up(coordinator);
  CHECK(coordinator.told() == "join a");
  const auto request = coordinator.last_join();
  const auto offered = from_wire(request.offer());
  CHECK(offered.agent == agent_id{"a"});
  CHECK(offered.host == "node-a");
  CHECK(offered.slot_count == 2);
  CHECK(offered.master_port == 29'500);
  CHECK(offered.address == "10.0.0.7"); // That of the link: none was given.
  CHECK(request.offer().liveness_port() == 7'000);
  CHECK(from_wire(request.settings()) == core::job_settings{1, 4, 3});
  CHECK_FALSE(request.has_claim());
}

TEST_CASE_METHOD(
  node_agent_fixture,
  "node_agent: a generation starts its workers, and it reports their pids",
  "[actors]") {
  join();
  form(1);
  CHECK(host->told() == "start 1");
  CHECK(host->has(1, 1, "RANK=3"));
  CHECK(host->has(1, 1, "WORLD_SIZE=4"));
  CHECK(host->has(1, 1, "MASTER_ADDR=10.0.0.1"));
  CHECK(host->has(1, 1, "MASTER_PORT=29600"));
  CHECK(host->has(1, 1, "TORCHELASTIC_RESTART_COUNT=1"));
  CHECK(host->has(1, 1, "TORCHELASTIC_RUN_ID=job-1"));
  CHECK(coordinator.told().empty());
  host->start_all(1, 100);
  run();
  CHECK(coordinator.told() == "started 1: 100 101");
}

TEST_CASE_METHOD(node_agent_fixture,
                 "node_agent: a start bears the fence under which it was "
                 "decided",
                 "[actors]") {
  join();
  host->fire_fence();
  form(1);
  CHECK(host->decided() == 1);
}

TEST_CASE_METHOD(node_agent_fixture, "node_agent: it reports success",
                 "[actors]") {
  run_workers();
  exit_all(1, 0);
  CHECK(host->told() == "release 1");
  CHECK(coordinator.told() == "succeeded 1");
}

TEST_CASE_METHOD(node_agent_fixture,
                 "node_agent: it reports a failure and stops the others",
                 "[actors]") {
  run_workers();
  host->exit(1, 0, 7);
  run();
  CHECK(coordinator.told()
        == "failed 1: rank 2 (local rank 0, pid 100) on node-a exited with "
           "code 7");
  CHECK(host->told() == "signal 1 15");
  host->exit(1, 1, 143);
  run();
  CHECK(coordinator.told() == "stopped 1, port 29501");
}

TEST_CASE_METHOD(node_agent_fixture,
                 "node_agent: failures after the first are reported at the end",
                 "[actors]") {
  run_workers();
  host->report(1, {ports::process_exited{{1}, 0, 100, 7, 0, false, {}},
                   ports::process_exited{{1}, 1, 101, 8, 0, false, {}}});
  run();
  CHECK(coordinator.told()
        == "failed 1: rank 2 (local rank 0, pid 100) on node-a exited with "
           "code 7; stopped 1, port 29501 +1");
}

TEST_CASE_METHOD(
  node_agent_fixture,
  "node_agent: a revoked generation ends and the next one begins", "[actors]") {
  run_workers();
  revoke(1);
  CHECK(host->told() == "signal 1 15");
  CHECK(coordinator.told().empty());
  exit_all(1, 143);
  CHECK(coordinator.told() == "stopped 1, port 29501");
  host->told();
  form(2);
  CHECK(host->told() == "start 2");
  form(1); // Over already.
  form(2); // Running already.
  CHECK(host->told().empty());
}

TEST_CASE_METHOD(
  node_agent_fixture,
  "node_agent: workers of a generation that is over get no grace "
  "period",
  "[actors]") {
  run_workers();
  revoke(1, true);
  CHECK(host->told() == "signal 1 9");
}

TEST_CASE_METHOD(
  node_agent_fixture,
  "node_agent: a generation that is revoked before its plan came "
  "does not start",
  "[actors]") {
  join();
  revoke(5);
  CHECK(coordinator.told() == "stopped 5, port 0");
  form(5);
  CHECK(host->told().empty());
}

// -- the end ------------------------------------------------------------------

TEST_CASE_METHOD(node_agent_fixture,
                 "node_agent: when the job ends it leaves and ends",
                 "[actors]") {
  run_workers();
  exit_all(1, 0);
  forget();
  end_job();
  CHECK(coordinator.told() == "left a");
  CHECK(endings->empty()); // It waits for the confirmation.
  end(coordinator.handle);
  REQUIRE(endings->size() == 1);
  REQUIRE(endings->front().result);
  CHECK(endings->front().result->kind == core::outcome::verdict::succeeded);
  CHECK(endings->front().result->reason == "all is well");
  CHECK_FALSE(endings->front().why);
}

TEST_CASE_METHOD(node_agent_fixture,
                 "node_agent: it does not wait for a coordinator that does not "
                 "release it",
                 "[actors]") {
  join();
  end_job();
  advance(899ms);
  CHECK(endings->empty());
  advance(1ms);
  CHECK(endings->size() == 1);
}

TEST_CASE_METHOD(node_agent_fixture,
                 "node_agent: workers that cannot be told of a safe point "
                 "refuse it",
                 "[actors]") {
  run_workers();
  auto order = v1::SafePointOrder{};
  order.set_generation(1);
  send(coordinator.handle, uut, order);
  CHECK(coordinator.told() == "refused of 1");
  order.set_generation(2);
  send(coordinator.handle, uut, order);
  CHECK(coordinator.told().empty());
}

TEST_CASE_METHOD(
  node_agent_fixture,
  "node_agent: T3 it starts its workers ahead, and says when they "
  "have ended or wait",
  "[actors]") {
  join();
  auto order = v1::StartAhead{};
  order.set_generation(4);
  order.set_restart_count(2);
  say(order);
  CHECK(host->told() == "start 4");
  CHECK(host->has(4, 0, "ACTORRUN_AHEAD=1"));
  host->start_all(4, 100);
  run();
  CHECK(coordinator.told().empty());
  host->exit(4, 0, 1);
  host->exit(4, 1, 1);
  run();
  CHECK(coordinator.told() == "stopped 4, port 29500");
  host->told();
  form(5);
  CHECK(host->told() == "start 5");
}

TEST_CASE_METHOD(node_agent_fixture,
                 "node_agent: ordered to leave, it stops its workers first",
                 "[actors]") {
  run_workers();
  leave(SIGINT);
  CHECK(coordinator.told() == "leaving a 2");
  CHECK(host->told() == "signal 1 2");
  exit_all(1, 0, SIGINT);
  CHECK(coordinator.told() == "stopped 1, port 29501; left a");
  end(coordinator.handle);
  REQUIRE(endings->size() == 1);
  const auto& how = endings->front();
  CHECK_FALSE(how.result);
  CHECK_FALSE(how.why);
  CHECK(how.signal == SIGINT);
  REQUIRE(how.last); // For who reports the end.
  CHECK(number_of(how.last->generation) == 1);
}

TEST_CASE_METHOD(node_agent_fixture,
                 "node_agent: ordered twice to leave, it kills its workers",
                 "[actors]") {
  run_workers();
  leave(SIGTERM);
  CHECK(host->told() == "signal 1 15");
  leave(SIGTERM);
  CHECK(host->told() == "signal 1 9");
  exit_all(1, 0, SIGKILL);
  CHECK(coordinator.told() == "leaving a 15; stopped 1, port 29501; left a");
}

TEST_CASE_METHOD(node_agent_fixture,
                 "node_agent: it can leave before it has found a coordinator",
                 "[actors]") {
  leave(SIGTERM);
  REQUIRE(endings->size() == 1);
  CHECK(endings->front().signal == SIGTERM);
  CHECK(coordinator.told().empty());
}

TEST_CASE_METHOD(node_agent_fixture,
                 "node_agent: an agent that is rejected ends", "[actors]") {
  link_up(coordinator);
  locator->told();
  auto x = v1::JoinRejected{};
  x.set_code(uint32_t(errc::settings_mismatch));
  x.set_text("the job runs with --nnodes=2");
  say(x);
  CHECK(locator->told() == "drop");
  REQUIRE(endings->size() == 1);
  CHECK(endings->front().why
        == failure{errc::settings_mismatch, "the job runs with --nnodes=2"});
}

TEST_CASE_METHOD(node_agent_fixture,
                 "node_agent: its end is the end of its workers", "[actors]") {
  run_workers();
  end(uut);
  CHECK(host->told() == "signal 1 9");
  CHECK(endings->empty()); // Not decided by the protocol.
}

// -- what others see ----------------------------------------------------------

TEST_CASE_METHOD(node_agent_fixture,
                 "node_agent: observers see generations and the end",
                 "[actors]") {
  const auto first = record_observer(system);
  const auto second = record_observer(system);
  for (const auto& x : {first, second})
    tell_anonymously(uut, keep(x.handle));
  run_workers();
  CHECK(first.told() == "begun 1: ranks 2-3 of 4");
  revoke(1);
  CHECK(first.told() == "over 1: agent b left");
  exit_all(1, 143);
  end_job();
  CHECK(first.told() == "ended succeeded: all is well");
  CHECK(second.told()
        == "begun 1: ranks 2-3 of 4; over 1: agent b left; ended "
           "succeeded: all is well");
}

TEST_CASE_METHOD(
  node_agent_fixture,
  "node_agent: observers see once that a generation is over, also "
  "if the fence ends it",
  "[actors]") {
  const auto uut_observer = record_observer(system);
  tell_anonymously(uut, keep(uut_observer.handle));
  run_workers();
  CHECK(uut_observer.told() == "begun 1: ranks 2-3 of 4");
  advance(900ms);
  CHECK(uut_observer.told() == "over 1: the coordinator does not answer");
  revoke(1);
  CHECK(uut_observer.told() == "");
  end_job();
  end_job();
  CHECK(uut_observer.told() == "ended succeeded: all is well");
}

TEST_CASE_METHOD(node_agent_fixture,
                 "node_agent: a lost coordinator is told once, with what helps",
                 "[actors]") {
  run_workers();
  lines.told();
  end(coordinator.handle);
  CHECK(lines.told() == ""); // It may be back at once.
  advance(20ms);
  no_link(errc::connection_refused);
  CHECK(lines.told().starts_with("warning the coordinator is lost (no luck). "
                                 "The workers of this node run on "
                                 "for 880.0 ms, and are killed then unless"));
  advance(40ms);
  no_link(errc::connection_refused);
  CHECK(lines.told() == "");
  advance(80ms);
  no_link(errc::connection_timed_out);
  CHECK(lines.told() == "warning still no coordinator: no luck\n");
  advance(200ms);
  replace_coordinator();
  link_up(coordinator);
  auto x = v1::JoinAccepted{};
  x.set_keep_alive_interval_ns(300'000'000);
  x.set_fence_ns(900'000'000);
  x.set_coordinator_host("n2");
  x.set_coordinator_pid(4711);
  say(x);
  CHECK(
    lines.told()
    == "info joined the job again, 340.0 ms after the loss: its coordinator "
       "is pid 4711 on n2\n");
}

TEST_CASE_METHOD(node_agent_fixture,
                 "node_agent: a loss is told also while no attempt has ended",
                 "[actors]") {
  run_workers();
  lines.told();
  end(coordinator.handle);
  advance(249ms);
  CHECK(lines.told() == "");
  advance(1ms);
  CHECK(
    lines.told().starts_with("warning the coordinator is lost. The workers"));
}

TEST_CASE_METHOD(node_agent_fixture,
                 "node_agent: that the coordinator has moved is no loss",
                 "[actors]") {
  run_workers();
  auto x = v1::JoinAccepted{};
  x.set_keep_alive_interval_ns(300'000'000);
  x.set_fence_ns(900'000'000);
  x.set_coordinator_host("n1");
  say(x);
  lines.told();
  end(coordinator.handle);
  advance(100ms);
  replace_coordinator();
  link_up(coordinator);
  x.set_coordinator_host("n2");
  x.set_coordinator_pid(4711);
  say(x);
  CHECK(lines.told()
        == "info the coordinator of the job is pid 4711 on n2 now\n");
  advance(200ms);
  CHECK(lines.told() == "");
}

TEST_CASE_METHOD(node_agent_fixture,
                 "node_agent: asked for the status, it asks the coordinator",
                 "[actors]") {
  join();
  CHECK(status().phase() == "recorded");
}

TEST_CASE_METHOD(
  node_agent_fixture,
  "node_agent: without a coordinator it answers from its own state",
  "[actors]") {
  auto seen = status();
  CHECK(seen.job_id() == "job-1");
  CHECK(seen.phase() == "seeking");
  CHECK(seen.generation() == 0);
  CHECK(seen.waiting_for()
        == "no coordinator answers; this agent looks for one");
  CHECK(seen.coordinator_pid() == 0);
  run_workers();
  end(coordinator.handle);
  advance(200ms);
  seen = status();
  CHECK(seen.phase() == "seeking");
  CHECK(seen.phase_age_ms() == 200);
  CHECK(seen.waiting_age_ms() == 200);
  CHECK(seen.waiting_left_ms() == 599'800);
  CHECK(seen.waiting_for()
        == "the coordinator is lost; to bring it back, start the same command "
           "again on its host, n1:29400");
  CHECK(seen.agents(0).since_ms() == 200);
  CHECK(seen.generation() == 1);
  CHECK(seen.restart_count() == 1);
  CHECK(seen.world_size() == 4);
  CHECK(seen.master_address() == "10.0.0.1");
  CHECK(seen.master_port() == 29'600);
  REQUIRE(seen.agents_size() == 1);
  const auto& own = seen.agents(0);
  CHECK(own.agent_id() == "a");
  CHECK(own.host() == "node-a");
  CHECK(own.slot_count() == 2);
  CHECK(own.node_rank() == 1);
  CHECK(own.first_global_rank() == 2);
  CHECK(own.share() == v1::SHARE_RUNNING);
  REQUIRE(own.pids_size() == 2);
  CHECK(own.pids(1) == 101);
}

// Whoever hosts it ends the node then; there is nothing to report.
TEST_CASE_METHOD(node_agent_fixture,
                 "node_agent: it ends with its worker supervisor", "[actors]") {
  auto reasons = std::vector<std::string>{};
  uut->attach_functor(
    [&](const caf::error& x) { reasons.push_back(caf::deep_to_string(x)); });
  join();
  host->lack_memory();
  form(1);
  run();
  CHECK(reasons.size() == 1);
  CHECK(endings->empty());
}

TEST_CASE_METHOD(node_agent_fixture,
                 "node_agent: a coordinator that is silent for 2 s is not "
                 "waited for",
                 "[actors]") {
  coordinator = record_coordinator(system, false);
  keep(coordinator.handle);
  link_up(coordinator);
  accept(); // Without a lease, which would run out first.
  const auto seen = ask_status(uut);
  advance(1'999ms);
  CHECK_FALSE(seen->has_value());
  advance(1ms);
  REQUIRE(seen->has_value());
  CHECK((*seen)->phase() == "joined");
  CHECK((*seen)->agents_size() == 1);
}

TEST_CASE_METHOD(
  node_agent_fixture,
  "node_agent: an operator gets the coordinator's status, or its "
  "own",
  "[actors]") {
  auto seen = std::vector<std::string>{};
  auto question = operator_question{};
  question.what.mutable_status();
  question.reply
    = [&](const v1::OperatorReply& x) { seen.push_back(x.status().phase()); };
  tell_anonymously(uut, question);
  run();
  link_up(coordinator);
  accept();
  tell_anonymously(uut, question);
  run();
  CHECK(seen == std::vector<std::string>{"seeking", "recorded"});
}

TEST_CASE_METHOD(node_agent_fixture,
                 "node_agent: its own process can ask about its node alone",
                 "[actors]") {
  auto seen = std::vector<v1::JobStatus>{};
  auto question = operator_question{};
  question.what = own_node_request();
  question.reply
    = [&](const v1::OperatorReply& x) { seen.push_back(x.status()); };
  link_up(coordinator);
  accept();
  tell_anonymously(uut, question);
  run();
  REQUIRE(seen.size() == 1);
  CHECK(seen[0].phase() == "joined");
  REQUIRE(seen[0].agents_size() == 1);
  CHECK(seen[0].agents(0).share() == v1::SHARE_IDLE);
}

TEST_CASE_METHOD(node_agent_fixture,
                 "node_agent: it tells of a machine that goes until something "
                 "follows",
                 "[actors]") {
  run_workers();
  tell_anonymously(uut, core::notice_received{"spot"});
  run();
  CHECK(coordinator.told() == "notice: spot");
  auto order = v1::DrainNotice{};
  order.set_deadline_ms(30'000);
  SECTION("its node is drained") {
    say(order);
    CHECK(host->told() == "notify 1 10");
    exit_all(1, 0);
    CHECK(coordinator.told().starts_with("leaving"));
  }
  SECTION("its workers are to save, and go on") {
    order.set_stays(true);
    say(order);
    CHECK(host->told() == "notify 1 10");
    exit_all(1, 0);
    CHECK(coordinator.told() == "succeeded 1");
  }
}

} // namespace actorrun::test::node_agent_test
