#include "tests/actors/coordinator_fixture.hpp"

namespace actorrun::test::rendezvous_coordinator_test {

namespace {

struct roomy_fixture : coordinator_fixture {
  roomy_fixture() : coordinator_fixture{{1, 3, 0}} {}
};

} // namespace

// -- generations
// -------------------------------------------------------------------

TEST_CASE_METHOD(coordinator_fixture,
                 "coordinator: two agents form a generation", "[actors]") {
  a = local();
  b = local();
  CHECK(join(a, "1") == "accepted");
  CHECK(join(b, "2") == "accepted; formed 1: ranks 2-3 of 4");
  CHECK(a.told() == "formed 1: ranks 0-1 of 4");
  CHECK(links->told().empty());
}

TEST_CASE_METHOD(
  coordinator_fixture,
  "coordinator: a failure revokes the generation and the next one "
  "forms when all have stopped",
  "[actors]") {
  run_two();
  failed(b, "2", 1);
  const auto why = std::string{"rank 1 (local rank 1, pid 101) on node-2 "
                               "exited with code 7"};
  CHECK(a.told() == "revoked 1: " + why);
  CHECK(b.told() == "revoked 1: " + why);
  stopped(b, "2", 1);
  CHECK(b.told().empty());
  stopped(a, "1", 1);
  CHECK(a.told() == "formed 2: ranks 0-1 of 4, " + why);
  CHECK(b.told() == "formed 2: ranks 2-3 of 4, " + why);
}

TEST_CASE_METHOD(coordinator_fixture,
                 "coordinator: without a restart left a failure ends the job",
                 "[actors]") {
  run_two();
  failed(b, "2", 1);
  stopped(a, "1", 1);
  stopped(b, "2", 1);
  failed(a, "1", 2);
  stopped(a, "1", 2);
  a.told();
  stopped(b, "2", 2);
  CHECK(a.told()
        == "ended failed: rank 1 (local rank 1, pid 101) on node-1 exited "
           "with code 7");
  CHECK(closed->empty()); // No agent has left yet.
  leave(a, "1", true);
  leave(b, "2", true);
  REQUIRE(closed->size() == 1);
  CHECK(closed->front().kind == core::outcome::verdict::failed);
  REQUIRE(closed->front().first_failure);
  CHECK(closed->front().first_failure->agent == agent_id{"1"});
}

TEST_CASE_METHOD(coordinator_fixture,
                 "coordinator: reports on an older generation change nothing",
                 "[actors]") {
  run_two();
  failed(b, "2", 1);
  stopped(a, "1", 1);
  stopped(b, "2", 1);
  a.told();
  b.told();
  failed(b, "2", 1);
  succeeded(a, "1", 1);
  succeeded(b, "2", 1);
  CHECK(a.told().empty());
  CHECK(status().phase() == "starting");
}

TEST_CASE("coordinator: T3 a newcomer starts its workers before the others are "
          "asked to hold",
          "[actors]") {
  auto x = coordinator_fixture{{1, 2, 1}};
  const auto a = x.local();
  x.join(a, "1");
  x.advance(3s);
  REQUIRE(a.told().find("formed 1") != std::string::npos);
  x.started(a, "1", 1);
  x.report<v1::SafePointReport>(a, "1", 1); // Stepping.
  a.told();
  const auto b = x.remote();
  CHECK(x.join(b, "2").find("start ahead of 1, 0 restarts")
        != std::string::npos);
  CHECK(a.told().empty());
  x.stopped(b, "2", 1);
  CHECK(a.told() == "hold of 1");
}

// -- which agents may take part -----------------------------------------------

TEST_CASE_METHOD(coordinator_fixture,
                 "coordinator: an agent with other settings is rejected",
                 "[actors]") {
  a = local();
  auto wrong = request("1");
  wrong.mutable_settings()->set_agent_count_max(3);
  send(a.handle, uut, wrong);
  CHECK(a.told()
        == "rejected: settings_mismatch, the job runs with --nnodes=2 "
           "--max-restarts=1, agent 1 asks for --nnodes=2:3 "
           "--max-restarts=1");
  CHECK(status().agents_size() == 0);
  CHECK(join(a, "1") == "accepted"); // A correct offer is accepted.
}

TEST_CASE_METHOD(coordinator_fixture,
                 "coordinator: an offer of no or too many slots is rejected",
                 "[actors]") {
  a = local();
  auto offered = request("1");
  for (auto [count, text] :
       {std::pair{0u, "rejected: bad_slot_count, agent 1 offers 0 workers; 1 "
                      "to 4096 are possible"},
        std::pair{4096u, "accepted"},
        std::pair{4097u, "rejected: bad_slot_count, agent 1 offers 4097 "
                         "workers; 1 to 4096 are possible"}}) {
    offered.mutable_offer()->set_slot_count(count);
    send(a.handle, uut, offered);
    CHECK(a.told() == text);
  }
}

TEST_CASE_METHOD(
  coordinator_fixture,
  "coordinator: an agent that cannot be answered or named does not join",
  "[actors]") {
  tell_anonymously(uut, request("1"));
  run();
  a = local();
  CHECK(join(a, "").empty());
  CHECK(status().agents_size() == 0);
}

TEST_CASE_METHOD(coordinator_fixture,
                 "coordinator: an agent beyond the maximum is a standby",
                 "[actors]") {
  run_two();
  const auto c = local();
  CHECK(join(c, "3") == "accepted");
  CHECK(c.waits_for() == "this one stands by: the maximum is 2 nodes");
  CHECK(a.told().empty());
  CHECK(status().agents_size() == 3);
  leave(b, "2", true);
  CHECK(a.told() == "revoked 1: agent 2 left");
  stopped(a, "1", 1);
  CHECK(c.told() == "formed 2: ranks 2-3 of 4, agent 2 left");
}

TEST_CASE_METHOD(coordinator_fixture,
                 "coordinator: an agent that joins learns why nothing runs",
                 "[actors]") {
  a = local();
  join(a, "1");
  CHECK(a.waits_for()
        == "waiting for 1 more node: 1 of 2 nodes are here (10 min 0 s at"
           " most)");
}

// -- time ---------------------------------------------------------------------

TEST_CASE_METHOD(roomy_fixture,
                 "coordinator: the last call ends when it is quiet",
                 "[actors]") {
  a = local();
  CHECK(join(a, "1") == "accepted");
  advance(2s);
  b = local();
  CHECK(join(b, "2") == "accepted");
  advance(2'999ms);
  CHECK(a.told().empty());
  advance(1ms);
  CHECK(a.told() == "formed 1: ranks 0-1 of 4");
}

TEST_CASE_METHOD(roomy_fixture,
                 "coordinator: a joiner restarts the job when there is room",
                 "[actors]") {
  a = local();
  join(a, "1");
  advance(3s);
  REQUIRE(a.told() == "formed 1: ranks 0-1 of 2");
  started(a, "1", 1);
  b = local();
  CHECK(join(b, "2") == "accepted");
  advance(999ms);
  CHECK(a.told().empty());
  advance(1ms);
  CHECK(a.told() == "revoked 1: 1 more joined");
  stopped(a, "1", 1);
  CHECK(b.told() == "formed 2: ranks 2-3 of 4, 1 more joined");
}

TEST_CASE_METHOD(coordinator_fixture,
                 "coordinator: too few agents for too long end the job",
                 "[actors]") {
  a = local();
  join(a, "1");
  advance(599'999ms);
  CHECK(a.told().empty());
  advance(1ms);
  CHECK(a.told() == "ended unmet: only 1 of 2 nodes are here after 10 min 0 s");
  leave(a, "1", true);
  REQUIRE(closed->size() == 1);
  CHECK(closed->front().kind == core::outcome::verdict::unmet);
}

// -- agents that end ----------------------------------------------------------

TEST_CASE_METHOD(coordinator_fixture,
                 "coordinator: an agent that leaves revokes the generation",
                 "[actors]") {
  run_two();
  leave(a, "1", false, 15);
  CHECK(b.told() == "revoked 1: agent 1 leaves (signal 15)");
  CHECK(a.told() == "revoked 1: agent 1 leaves (signal 15)");
  CHECK(status().agents(0).leaving());
  leave(a, "1", true);
  CHECK(links->told() == "sever 1");
  CHECK(status().agents_size() == 1);
}

TEST_CASE_METHOD(coordinator_fixture,
                 "coordinator: a dead agent of its own process is lost at once",
                 "[actors]") {
  run_two();
  end(b.handle);
  CHECK(links->told() == "sever 2");
  CHECK(a.told() == "revoked 1: agent 2 ended");
  stopped(a, "1", 1);
  CHECK(a.told().empty());
  CHECK(status().waiting_for()
        == "waiting for 1 more node: 1 of 2 nodes are here");
}

// -- the end ------------------------------------------------------------------

TEST_CASE_METHOD(coordinator_fixture,
                 "coordinator: the job ends when all workers have succeeded",
                 "[actors]") {
  run_two();
  succeeded(a, "1", 1);
  CHECK(a.told().empty());
  succeeded(b, "2", 1);
  CHECK(a.told() == "ended succeeded: all workers of generation 1 succeeded");
  CHECK(b.told() == "ended succeeded: all workers of generation 1 succeeded");
  leave(a, "1", true);
  CHECK(closed->empty());
  leave(b, "2", true);
  REQUIRE(closed->size() == 1);
  CHECK(closed->front().kind == core::outcome::verdict::succeeded);
}

TEST_CASE_METHOD(coordinator_fixture,
                 "coordinator: it closes once and then ends", "[actors]") {
  auto down = std::make_shared<int>(0);
  keep(system.spawn([=, this](caf::event_based_actor* self) -> caf::behavior {
    notice_end(self, uut, [down] { ++*down; });
    return {[](int) {}};
  }));
  tell_anonymously(uut, core::stop_requested{15});
  run();
  CHECK(closed->size() == 1); // No agent was left to notify.
  CHECK(closed->front().kind == core::outcome::verdict::stopped);
  CHECK(closed->front().signal == 15);
  CHECK(*down == 1);
  tell_anonymously(uut, core::stop_requested{15});
  advance(60s);
  CHECK(closed->size() == 1);
}

TEST_CASE_METHOD(
  coordinator_fixture,
  "coordinator: it does not wait forever for an agent that never leaves",
  "[actors]") {
  run_two();
  tell_anonymously(uut, core::stop_requested{2});
  run();
  CHECK(a.told() == "ended stopped: the job was asked to end by signal 2");
  stopped(a, "1", 1);
  stopped(b, "2", 1);
  advance(29'999ms);
  CHECK(closed->empty());
  advance(1ms);
  CHECK(closed->size() == 1);
}

TEST_CASE_METHOD(coordinator_fixture,
                 "coordinator: an agent that joins after the end learns of it",
                 "[actors]") {
  run_two();
  succeeded(a, "1", 1);
  succeeded(b, "2", 1);
  const auto c = local();
  CHECK(join(c, "3")
        == "accepted; ended succeeded: all workers of generation 1 succeeded");
}

TEST_CASE_METHOD(coordinator_fixture,
                 "coordinator: an agent cannot speak for another", "[actors]") {
  run_two_leased();
  const auto before = dropped_message_count.load();
  SECTION("about its workers") {
    failed(b, "1", 1);
    stopped(b, "1", 1);
    started(b, "1", 1, 900);
    succeeded(b, "1", 1);
    CHECK(dropped_message_count == before + 4);
  }
  SECTION("about its leaving") {
    leave(b, "1", false, 15);
    leave(b, "1", true);
    CHECK(dropped_message_count == before + 2);
  }
  SECTION("to keep its lease") {
    keep_alive(b, "1", 1);
    CHECK(dropped_message_count == before + 1);
  }
  SECTION("to take its place") {
    CHECK(join(local(), "1").empty());
    CHECK(dropped_message_count == before + 1);
  }
  CHECK(a.told().empty());
  CHECK(b.told().empty());
  failed(a, "1", 1); // For itself it can.
  CHECK_FALSE(b.told().empty());
}

TEST_CASE_METHOD(coordinator_fixture,
                 "coordinator: an id is free again when its agent has left",
                 "[actors]") {
  run_two();
  leave(b, "2", true);
  CHECK(join(local(), "2") == "accepted");
}

} // namespace actorrun::test::rendezvous_coordinator_test
