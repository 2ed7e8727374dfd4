// Tests the coordinator's answers to requests for the status of the job.

#include "actors/core/generation.hpp"
#include "tests/actors/coordinator_fixture.hpp"

namespace actorrun::test::coordinator_status_test {

TEST_CASE_METHOD(
  coordinator_fixture,
  "coordinator: the status lists agents that are there and counts missing ones",
  "[actors]") {
  a = local();
  join(a, "1");
  const auto seen = status();
  CHECK(seen.job_id() == "job-1");
  CHECK(seen.phase() == "gathering");
  CHECK(seen.generation() == 0);
  CHECK(seen.waiting_for() == "waiting for 1 more node: 1 of 2 nodes are here");
  CHECK(seen.coordinator_pid() == 4711);
  CHECK(seen.coordinator_host() == "node-c");
  CHECK(from_wire(seen.settings()) == core::job_settings{2, 2, 1});
  REQUIRE(seen.agents_size() == 1);
  CHECK(seen.agents(0).generation() == 0);
  CHECK(seen.agents(0).share() == v1::SHARE_IDLE);
  CHECK_FALSE(seen.has_outcome());
  CHECK_FALSE(seen.has_last_failure());
}

TEST_CASE_METHOD(coordinator_fixture,
                 "coordinator: the status shows the running generation",
                 "[actors]") {
  run_two();
  const auto seen = status();
  CHECK(seen.phase() == "running");
  CHECK(seen.generation() == 1);
  CHECK(seen.waiting_for().empty());
  CHECK(seen.world_size() == 4);
  CHECK(seen.master_address() == "10.0.0.1");
  CHECK(seen.master_port() == 29'500);
  REQUIRE(seen.agents_size() == 2);
  const auto& second = seen.agents(1);
  CHECK(second.agent_id() == "2");
  CHECK(second.host() == "node-2");
  CHECK(second.address() == "10.0.0.2");
  CHECK(second.role() == "default");
  CHECK(second.slot_count() == 2);
  CHECK(second.connected());
  CHECK_FALSE(second.leaving());
  CHECK(second.generation() == 1);
  CHECK(second.node_rank() == 1);
  CHECK(second.first_global_rank() == 2);
  CHECK(second.share() == v1::SHARE_RUNNING);
  REQUIRE(second.pids_size() == 2);
  CHECK(second.pids(0) == 200);
  CHECK(second.pids(1) == 201);
}

TEST_CASE_METHOD(coordinator_fixture,
                 "coordinator: the status counts restarts and keeps the last "
                 "failure",
                 "[actors]") {
  run_two();
  failed(b, "2", 1);
  auto seen = status();
  CHECK(seen.phase() == "stopping");
  CHECK(seen.last_failure().host() == "node-2");
  CHECK(seen.last_failure().code() == 7);
  CHECK(seen.agents(0).pids_size() == 2);
  stopped(a, "1", 1);
  CHECK(status().agents(0).pids_size() == 0); // They have ended.
  stopped(b, "2", 1);
  seen = status();
  CHECK(seen.phase() == "starting");
  CHECK(seen.generation() == 2);
  CHECK(seen.restart_count() == 1);
  CHECK(seen.last_failure().code() == 7);
  CHECK(seen.agents(0).pids_size() == 0); // Those of generation 1 are gone.
}

TEST_CASE_METHOD(coordinator_fixture,
                 "coordinator: the status shows how the job ended",
                 "[actors]") {
  run_two();
  succeeded(a, "1", 1);
  succeeded(b, "2", 1);
  const auto seen = status();
  CHECK(seen.phase() == "ended");
  REQUIRE(seen.has_outcome());
  CHECK(seen.outcome().verdict() == v1::VERDICT_SUCCEEDED);
}

TEST_CASE_METHOD(coordinator_fixture,
                 "coordinator: the status lists nodes whose workers cannot be "
                 "killed",
                 "[actors]") {
  run_two();
  failed(b, "2", 1);
  stopped(b, "2", 1);
  CHECK(status().quarantined_nodes().empty());
  auto x = v1::WorkersStopped{};
  x.set_agent_id("1");
  x.set_generation(1);
  x.set_unkillable_count(3);
  send(a.handle, uut, x);
  const auto seen = status();
  REQUIRE(seen.quarantined_nodes_size() == 1);
  CHECK(seen.quarantined_nodes(0).agent_id() == "1");
  CHECK(seen.quarantined_nodes(0).host() == "node-1");
  CHECK(seen.quarantined_nodes(0).unkillable_count() == 3);
  CHECK(seen.phase() == "ended"); // Both are needed.
}

TEST_CASE_METHOD(coordinator_fixture,
                 "coordinator: an agent that is back brings its pids along",
                 "[actors]") {
  run_two_leased();
  end(b.handle);
  b = remote();
  auto again = request("2");
  claim(again, 1, v1::SHARE_RUNNING);
  again.mutable_claim()->add_pids(300);
  again.mutable_claim()->add_pids(301);
  send(b.handle, uut, again);
  const auto seen = status();
  REQUIRE(seen.agents(1).pids_size() == 2);
  CHECK(seen.agents(1).pids(1) == 301);
}

TEST_CASE_METHOD(coordinator_fixture,
                 "coordinator: the status has all nodes, however many",
                 "[actors]") {
  a = local();
  auto offered = request("1");
  for (auto i = 0; i < 800; ++i) {
    offered.mutable_offer()->set_agent_id(std::to_string(1'000 + i));
    offered.mutable_offer()->set_host(std::string(200, 'h'));
    send(a.handle, uut, offered);
  }
  const auto seen = whole_status();
  CHECK_FALSE(seen.truncated());
  CHECK(seen.agents_size() == 800);
  CHECK(seen.ByteSizeLong() > v1::message_size_max);
}

TEST_CASE_METHOD(coordinator_fixture,
                 "coordinator: the status has the pids of all workers, however "
                 "many",
                 "[actors]") {
  a = local();
  auto offered = request("1");
  for (auto n = 0u; n < core::slots_per_agent_max; ++n)
    offered.mutable_claim()->add_pids(4'194'304 - n);
  for (auto i = 0; i < 10; ++i) {
    const auto id = std::to_string(1'000 + i);
    offered.mutable_offer()->set_agent_id(id);
    offered.mutable_offer()->set_slot_count(core::slots_per_agent_max);
    claim(offered, 1, v1::SHARE_RUNNING, 20); // Of an earlier coordinator's.
    send(a.handle, uut, offered);
  }
  const auto seen = whole_status();
  CHECK_FALSE(seen.truncated());
  REQUIRE(seen.agents_size() == 10);
  for (const auto& agent : seen.agents())
    CHECK(agent.pids_size() == int(core::slots_per_agent_max));
}

TEST_CASE_METHOD(coordinator_fixture,
                 "coordinator: the status tells how old leases are",
                 "[actors]") {
  run_two_leased();
  CHECK(status().agents(0).lease_age_ms() == 0);
  advance(200ms);
  keep_alive(a, "1", 1);
  advance(100ms);
  const auto seen = status();
  CHECK(seen.agents(0).lease_age_ms() == 100);
  CHECK(seen.agents(1).lease_age_ms() == 300);
  CHECK(seen.agents(0).state() == "running");
  CHECK(seen.is_healthy());
}

TEST_CASE_METHOD(coordinator_fixture,
                 "coordinator: without a lease there is no age of one",
                 "[actors]") {
  run_two();
  CHECK_FALSE(status().agents(0).has_lease_age_ms());
}

namespace {

v1::OperatorReply journal_of(coordinator_fixture& x) {
  auto request = v1::OperatorRequest{};
  request.mutable_journal()->set_position(7);
  auto got = std::make_shared<v1::OperatorReply>();
  tell_anonymously(x.uut, operator_question{
                            request, [got](v1::OperatorReply y) { *got = y; }});
  x.run();
  return *got;
}

struct journal_fixture : coordinator_fixture {
  journal_fixture()
    : coordinator_fixture{
      {2, 2, 1},
      std::make_shared<shared_lease_desk>(),
      [](rendezvous_coordinator_config& x) {
        x.read_journal = [](const v1::ReadJournal& what, const auto& reply) {
          auto out = v1::OperatorReply{};
          out.mutable_journal()->set_position(what.position());
          reply(out);
        };
      }} {}
};

} // namespace

TEST_CASE_METHOD(journal_fixture,
                 "coordinator: its journal is read for operators", "[actors]") {
  CHECK(journal_of(*this).journal().position() == 7);
}

TEST_CASE_METHOD(coordinator_fixture,
                 "coordinator: operators are told that there is no journal",
                 "[actors]") {
  CHECK(journal_of(*this).refusal().text().find("keeps no journal")
        != std::string::npos);
}

TEST_CASE_METHOD(coordinator_fixture,
                 "coordinator: it explains the job to operators", "[actors]") {
  run_two();
  failed(b, "2", 1);
  stopped(a, "1", 1);
  stopped(b, "2", 1);
  const auto explain = [this](bool all) {
    auto request = v1::OperatorRequest{};
    request.mutable_explain()->set_all(all);
    auto got = std::make_shared<v1::OperatorReply>();
    tell_anonymously(uut, operator_question{
                            request, [got](v1::OperatorReply x) { *got = x; }});
    run();
    return got->explanations();
  };
  const auto now = explain(false);
  REQUIRE(now.parts_size() == 1);
  CHECK_FALSE(now.is_healthy());
  CHECK(now.parts(0).evidence_size() > 0);
  const auto all = explain(true);
  REQUIRE(all.parts_size() == 2); // The last generation is now.
  CHECK(all.parts(0).sentence().starts_with("Generation 1 ended: "));
  CHECK(all.parts(1).sentence() == now.parts(0).sentence());
}

} // namespace actorrun::test::coordinator_status_test
