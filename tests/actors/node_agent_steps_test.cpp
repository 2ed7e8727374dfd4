// Tests what a node agent makes of the steps that its workers say.
#include "tests/actors/node_agent_fixture.hpp"
#include "tests/support/fake_node_vitals.hpp"
#include "tests/support/fake_step_counters.hpp"

namespace actorrun::test::node_agent_steps_test {

namespace {

/// Its workers, 100 and 101, have ranks 2 and 3.
struct agent_steps_fixture : node_agent_fixture {
  explicit agent_steps_fixture(uint32_t distance = 6) {
    end(uut);
    auto config = plain_config();
    config.supervisor.vitals = vitals;
    config.vitals = vitals;
    config.stragglers = {.distance = distance, .windows = 2};
    config.steps = steps;
    uut = keep(spawn_node_agent(system, config));
    run();
    forget();
    // Without a lease, which would have to be renewed while time passes.
    link_up(coordinator);
    accept();
    form(1);
    host->start_all(1, 100);
    run();
    forget();
  }

  /// A second, in which both workers do ten steps.
  void step(core::duration compute) {
    for (const auto pid : {100, 101}) {
      auto& x = steps->known[pid];
      x.step_count += 10;
      x.newest.assign(10, compute);
    }
    advance(1s);
  }

  /// What it has said of the pace of workers.
  size_t told() const {
    const auto text = coordinator.told();
    auto count = size_t{0};
    for (auto at = text.find("paces of 2"); at != text.npos;
         at = text.find("paces of 2", at + 1))
      ++count;
    return count;
  }

  std::shared_ptr<fake_step_counters> steps
    = std::make_shared<fake_step_counters>();
  std::shared_ptr<fake_node_vitals> vitals
    = std::make_shared<fake_node_vitals>();
};

struct unwatched_fixture : agent_steps_fixture {
  unwatched_fixture() : agent_steps_fixture{0} {}
};

} // namespace

TEST_CASE_METHOD(agent_steps_fixture,
                 "agent: how long its workers compute is told when it has "
                 "changed",
                 "[actors]") {
  for (auto i = 0; i < 6; ++i)
    step(100ms);
  CHECK(told() == 1);
  step(100ms);
  CHECK(told() == 0);
  for (auto i = 0; i < 4; ++i)
    step(120ms);
  CHECK(told() > 0);
  SECTION("a new coordinator is told") {
    accept(); // It says so when it accepts the agent.
    forget();
    step(120ms);
    CHECK(told() == 1);
  }
  SECTION("workers that are to end are not looked at") {
    revoke(1);
    const auto count = steps->read_count;
    advance(10s);
    CHECK(steps->read_count == count);
  }
}

TEST_CASE_METHOD(agent_steps_fixture,
                 "agent: of workers that say nothing, nothing is told",
                 "[actors]") {
  const auto before = steps->read_count;
  advance(10s);
  CHECK(steps->read_count - before == 3); // After 1, 3 and 7 s.
  CHECK(told() == 0);
}

TEST_CASE_METHOD(agent_steps_fixture, "agent: the status has their steps",
                 "[actors]") {
  step(100ms);
  step(100ms);
  auto question = v1::NodeStatusRequest{};
  question.set_request(1);
  say(question);
  vitals->answer(vitals_of({100, 101}, 7));
  run();
  REQUIRE(coordinator.node->vitals().workers_size() == 2);
  const auto& worker = coordinator.node->vitals().workers(1);
  CHECK(worker.step_count() == 20);
  CHECK(worker.compute_us() == 100'000);
  CHECK(worker.step_us() > 0);
}

TEST_CASE_METHOD(agent_steps_fixture,
                 "agent: what its workers save is told, and until they have "
                 "stopped",
                 "[actors]") {
  auto& saves = steps->known[100].saves;
  saves.saving_since = core::time_point::max();
  advance(1s);
  CHECK(coordinator.told().find("saved") == std::string::npos);
  saves.saving_since.reset();
  saves.save_count = 1;
  saves.saving = 500ms;
  saves.saved_up_to = core::time_point::max(); // Now, at the latest.
  advance(1s);
  CHECK(coordinator.told().find("saved for 500 ms, 0 ms ago")
        != std::string::npos);
  advance(1s);
  CHECK(coordinator.told().find("paces") == std::string::npos);
  accept();
  forget();
  advance(1s);
  CHECK(coordinator.told().find("saved for 500 ms") != std::string::npos);
  revoke(1);
  forget();
  saves.save_count = 2;
  saves.saving = 700ms;
  advance(1s);
  host->exit_all(1, 0, 15);
  run();
  const auto told = coordinator.told();
  INFO(told);
  CHECK(told.find("saved for 500 ms, 0 ms ago") < told.find("stopped"));
  CHECK(told.find("stopped") != std::string::npos);
}

TEST_CASE_METHOD(unwatched_fixture,
                 "agent: with a distance of 0 none is looked at", "[actors]") {
  step(100ms);
  CHECK(steps->read_count == 0);
}

} // namespace actorrun::test::node_agent_steps_test
