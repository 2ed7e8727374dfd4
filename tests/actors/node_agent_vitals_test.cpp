// Tests how a node agent answers when it is asked how its node is doing.
#include "tests/actors/node_agent_fixture.hpp"
#include "tests/support/fake_node_vitals.hpp"

namespace actorrun::test::node_agent_vitals_test {

namespace {

/// A timer server that knows these requests; or that does not answer.
timer_server_actor spawn_server(caf::actor_system& system,
                                std::vector<core::last_request> known,
                                bool answers = true) {
  using promise = caf::typed_response_promise<timer_figures>;
  return system.spawn([known, answers](timer_server_actor::pointer self)
                        -> timer_server_actor::behavior_type {
    return {
      [](const workers_timed&) {},
      [](const workers_untimed&) {},
      [](const acquire_timer&) {},
      [](const release_timer&) {},
      [](const acquire_worker_timer&) {},
      [](const release_worker_timer&) {},
      [=](const timer_question&) -> promise {
        auto to = self->make_response_promise<timer_figures>();
        if (answers)
          to.deliver(timer_figures{0, {}, {}, known});
        return to;
      },
    };
  });
}

struct agent_vitals_fixture : node_agent_fixture {
  agent_vitals_fixture() { begin(); }

  void begin(timer_server_actor timers = {}) {
    end(uut);
    auto config = plain_config();
    config.supervisor.vitals = vitals;
    if (timers)
      keep(timers);
    config.supervisor.timers = timers;
    config.vitals = vitals;
    uut = keep(spawn_node_agent(system, config));
    run();
    forget();
  }

  /// The coordinator asks.
  void ask(uint64_t number) {
    auto question = v1::NodeStatusRequest{};
    question.set_request(number);
    say(question);
  }

  std::shared_ptr<fake_node_vitals> vitals
    = std::make_shared<fake_node_vitals>();
};

} // namespace

TEST_CASE_METHOD(agent_vitals_fixture,
                 "agent: it reads nothing before it is asked", "[actors]") {
  run_workers();
  advance(10s);
  CHECK(vitals->asked.empty());
}

TEST_CASE_METHOD(agent_vitals_fixture,
                 "agent: it answers with a sample of its workers", "[actors]") {
  run_workers();
  ask(3);
  REQUIRE(vitals->asked.size() == 1);
  CHECK(vitals->asked[0].generation == generation_id{1});
  CHECK(vitals->asked[0].pids == std::vector<int64_t>{100, 101});
  CHECK(coordinator.told().empty());
  vitals->answer(vitals_of({100, 101}, 5));
  run();
  CHECK(coordinator.told() == "status 0");
  const auto& seen = *coordinator.node;
  CHECK(seen.agent_id() == "a");
  CHECK(seen.request() == 3);
  REQUIRE(seen.vitals().workers_size() == 2);
  CHECK(seen.vitals().workers(1).memory() == 5);
}

TEST_CASE_METHOD(agent_vitals_fixture,
                 "agent: the supervisor names the files of workers before they "
                 "start",
                 "[actors]") {
  join();
  CHECK(vitals->followed.empty());
  form(1);
  REQUIRE(vitals->followed.size() == 1);
  CHECK(vitals->followed[0].first == generation_id{1});
  CHECK(vitals->followed[0].second.workers.size() == 2);
}

TEST_CASE_METHOD(agent_vitals_fixture,
                 "agent: questions during a sample are answered by it",
                 "[actors]") {
  run_workers();
  ask(3);
  ask(4);
  CHECK(vitals->asked.size() == 1);
  vitals->answer(vitals_of({100, 101}, 5));
  run();
  CHECK(coordinator.told() == "status 0; status 0");
  CHECK(coordinator.node->request() == 4);
}

TEST_CASE_METHOD(agent_vitals_fixture,
                 "agent: on a machine that hangs it answers without a sample, "
                 "400 ms later",
                 "[actors]") {
  run_workers();
  ask(3);
  advance(399ms);
  CHECK(coordinator.told().find("status") == std::string::npos);
  advance(1ms);
  CHECK(coordinator.told().find("status 0") != std::string::npos);
  CHECK_FALSE(coordinator.node->has_vitals());
}

TEST_CASE_METHOD(agent_vitals_fixture,
                 "agent: without a coordinator its status has a new sample",
                 "[actors]") {
  const auto seen = ask_status(uut);
  CHECK_FALSE(seen->has_value());
  REQUIRE(vitals->asked.size() == 1);
  CHECK(vitals->asked[0].pids.empty());
  vitals->answer(vitals_of({}, 0));
  run();
  REQUIRE(seen->has_value());
  CHECK((*seen)->agents(0).vitals().cpu_count() == 64);
  CHECK((*seen)->agents(0).vitals().age_ms() == 0);
}

TEST_CASE_METHOD(
  agent_vitals_fixture,
  "agent: it reports what its workers last asked of the timer server",
  "[actors]") {
  const auto when = core::time_point{} + 1ns; // Long ago.
  begin(spawn_server(system, {{101, "step", when}, {7, "of another", when}}));
  run_workers();
  ask(3);
  vitals->answer(vitals_of({100, 101}, 5));
  run();
  const auto& workers = coordinator.node->vitals().workers();
  REQUIRE(workers.size() == 2);
  CHECK_FALSE(workers[0].has_timer_age_ms());
  CHECK(workers[1].timer_scope() == "step");
  CHECK(workers[1].has_timer_age_ms());
}

TEST_CASE_METHOD(agent_vitals_fixture,
                 "agent: a timer server that is silent costs 400 ms",
                 "[actors]") {
  begin(spawn_server(system, {}, false));
  run_workers();
  ask(3);
  vitals->answer(vitals_of({100, 101}, 5));
  advance(400ms);
  CHECK(coordinator.node->vitals().workers_size() == 2);
  CHECK(coordinator.node->request() == 3);
}

} // namespace actorrun::test::node_agent_vitals_test
