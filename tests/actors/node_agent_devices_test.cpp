// Tests how a node agent reports the devices of its node.
#include "tests/actors/node_agent_fixture.hpp"
#include "tests/support/fake_device_monitor.hpp"
#include "tests/support/log_lines.hpp"

namespace actorrun::test::node_agent_devices_test {

namespace {

struct agent_devices_fixture : actor_fixture {
  agent_devices_fixture() {
    keep(coordinator.handle);
    auto config = node_agent_config{};
    config.offering.agent = {"a"};
    config.offering.host = "node-a";
    config.settings = {1, 4, 3};
    config.supervisor.workers.command = {"train"};
    config.supervisor.job = {{"job-1"}, "default", 3};
    config.supervisor.processes = std::make_shared<fake_process_host>();
    config.locator = locator;
    config.devices = monitor;
    config.lines = lines.writer();
    config.on_finished = [](const core::ending&) {};
    uut = keep(spawn_node_agent(system, config));
    run();
  }

  void join() {
    locator->answer(ports::location{
      caf::actor_cast<caf::strong_actor_ptr>(coordinator.handle), "10.0.0.7",
      7'000, true});
    run();
    auto accepted = v1::JoinAccepted{};
    accepted.set_keep_alive_interval_ns(0);
    send(coordinator.handle, uut, accepted);
    lines.told();
  }

  void tell(const core::devices_status& now, const std::string& event = {}) {
    monitor->watcher(now, event);
    run();
  }

  /// Whether the coordinator has received devices since the last call.
  bool has_told_coordinator() {
    return coordinator.told().find("devices") != std::string::npos;
  }

  /// The coordinator asks.
  void ask(uint64_t number) {
    auto question = v1::NodeStatusRequest{};
    question.set_request(number);
    send(coordinator.handle, uut, question);
  }

  coordinator_recorder coordinator = record_coordinator(system);
  std::shared_ptr<fake_locator> locator = std::make_shared<fake_locator>();
  std::shared_ptr<fake_device_monitor> monitor
    = std::make_shared<fake_device_monitor>();
  log_lines lines;
  node_agent_actor uut;
};

} // namespace

TEST_CASE_METHOD(
  agent_devices_fixture,
  "agent: it reports devices to the coordinator once it knows them",
  "[actors]") {
  join();
  CHECK_FALSE(has_told_coordinator());
  tell(one_gpu(1));
  CHECK(has_told_coordinator());
  CHECK(lines.told().empty());
}

TEST_CASE_METHOD(agent_devices_fixture,
                 "agent: it reports them to each coordinator that accepts the "
                 "agent",
                 "[actors]") {
  tell(one_gpu(1));
  CHECK_FALSE(has_told_coordinator());
  join();
  CHECK(has_told_coordinator());
}

TEST_CASE_METHOD(agent_devices_fixture,
                 "agent: a node without devices sends no message", "[actors]") {
  join();
  coordinator.told();
  tell({});
  CHECK_FALSE(has_told_coordinator());
}

TEST_CASE_METHOD(agent_devices_fixture,
                 "agent: an event of a device is logged and sent to the "
                 "coordinator",
                 "[actors]") {
  join();
  tell(one_gpu(1));
  coordinator.told();
  tell(one_gpu(1, "XID 79"), "GPU 0: XID 79");
  CHECK(has_told_coordinator());
  CHECK(lines.told() == "warning node node-a: GPU 0: XID 79\n");
}

TEST_CASE_METHOD(agent_devices_fixture,
                 "agent: a question for its status waits for a reading of the "
                 "monitor",
                 "[actors]") {
  join();
  tell(one_gpu(1));
  coordinator.told();
  ask(1);
  ask(2);
  CHECK(coordinator.told().empty());
  CHECK(monitor->asked.size() == 1); // One reading answers both.
  monitor->answer(one_gpu(6));
  run();
  CHECK(coordinator.told() == "status 1; status 1");
  CHECK(coordinator.node->agent_id() == "a");
  CHECK(coordinator.node->request() == 2);
  CHECK(coordinator.node->gpus(0).memory_used() == 6);
  CHECK_FALSE(coordinator.node->has_vitals());
}

TEST_CASE_METHOD(agent_devices_fixture,
                 "agent: with a driver that hangs it answers with the last "
                 "reading, 400 ms later",
                 "[actors]") {
  join();
  tell(one_gpu(1));
  coordinator.told();
  ask(1);
  advance(399ms);
  CHECK(coordinator.told().empty());
  advance(1ms);
  CHECK(coordinator.told() == "status 1");
  CHECK(coordinator.node->gpus(0).memory_used() == 1);
  ask(2);
  CHECK(monitor->asked.size() == 1); // Not again while it hangs.
  tell(one_gpu(2), "GPU 0: XID 79"); // This is no answer.
  CHECK(coordinator.told() == "devices 1");
  monitor->answer(one_gpu(3));
  run();
  CHECK(coordinator.told() == "status 1");
  CHECK(coordinator.node->gpus(0).memory_used() == 3);
  advance(1s); // The timer of a wait that is over.
  CHECK(coordinator.told().empty());
}

TEST_CASE_METHOD(agent_devices_fixture,
                 "agent: a bounded number of questions wait, the others get "
                 "the last reading",
                 "[actors]") {
  join();
  tell(one_gpu(1));
  coordinator.told();
  for (uint64_t i = 1; i <= 64; ++i)
    ask(i);
  CHECK(coordinator.told().empty());
  ask(65);
  CHECK(coordinator.told() == "status 1");
  CHECK(coordinator.node->request() == 65);
}

TEST_CASE_METHOD(
  agent_devices_fixture,
  "agent: without a coordinator it shows its devices in the status",
  "[actors]") {
  tell(one_gpu(1));
  const auto seen = ask_status(uut);
  monitor->answer(one_gpu(3));
  run();
  REQUIRE(seen->has_value());
  REQUIRE((*seen)->agents_size() == 1);
  CHECK((*seen)->agents(0).gpus(0).memory_used() == 3);
}

TEST_CASE_METHOD(node_agent_fixture,
                 "agent: without a monitor it answers at once that it has no "
                 "devices",
                 "[actors]") {
  join();
  auto question = v1::NodeStatusRequest{};
  question.set_request(7);
  say(question);
  CHECK(coordinator.told() == "status 0");
  CHECK(coordinator.node->agent_id() == "a");
  CHECK(coordinator.node->request() == 7);
}

} // namespace actorrun::test::node_agent_devices_test
