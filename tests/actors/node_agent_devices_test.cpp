// Tests how a node agent reports the devices of its node.
#include "tests/actors/node_agent_fixture.hpp"
#include "tests/support/fake_device_monitor.hpp"
#include "tests/support/log_lines.hpp"

using namespace actorrun;
using namespace actorrun::test;

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
      7'000});
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

  using devices = std::shared_ptr<std::optional<v1::DevicesStatus>>;

  devices ask_devices() {
    auto out = std::make_shared<std::optional<v1::DevicesStatus>>();
    keep(system.spawn(
      [of = uut, out](caf::event_based_actor* self) -> caf::behavior {
        self->request(of, 60s, v1::DevicesRequest{})
          .then([out](const v1::DevicesStatus& x) { *out = x; });
        return {};
      }));
    run();
    return out;
  }

  coordinator_recorder coordinator = record_coordinator(elsewhere);
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
                 "agent: a request for devices waits for a reading of the "
                 "monitor",
                 "[actors]") {
  join();
  tell(one_gpu(1));
  coordinator.told();
  const auto first = ask_devices();
  const auto second = ask_devices();
  CHECK_FALSE(first->has_value());
  CHECK(monitor->asked.size() == 1); // One reading answers both.
  monitor->answer(one_gpu(6));
  run();
  REQUIRE(first->has_value());
  REQUIRE(second->has_value());
  CHECK((*first)->agent_id() == "a");
  CHECK((*first)->gpus(0).memory_used() == 6);
  CHECK_FALSE(has_told_coordinator());
}

TEST_CASE_METHOD(agent_devices_fixture,
                 "agent: with a driver that hangs a bounded number of requests "
                 "wait, the others get the last reading",
                 "[actors]") {
  join();
  tell(one_gpu(1));
  auto waiting = std::vector<devices>{};
  for (auto i = 0; i < 64; ++i)
    waiting.push_back(ask_devices());
  CHECK_FALSE(waiting.back()->has_value());
  const auto next = ask_devices();
  REQUIRE(next->has_value());
  CHECK((*next)->gpus(0).memory_used() == 1);
}

TEST_CASE_METHOD(
  agent_devices_fixture,
  "agent: without a coordinator it shows its devices in the status",
  "[actors]") {
  tell(one_gpu(3));
  const auto seen = ask_status(uut);
  REQUIRE(seen->has_value());
  REQUIRE((*seen)->agents_size() == 1);
  CHECK((*seen)->agents(0).gpus(0).memory_used() == 3);
}

TEST_CASE_METHOD(node_agent_fixture,
                 "agent: without a monitor it has no devices", "[actors]") {
  join();
  auto out = std::make_shared<std::optional<v1::DevicesStatus>>();
  keep(system.spawn(
    [of = uut, out](caf::event_based_actor* self) -> caf::behavior {
      self->request(of, 60s, v1::DevicesRequest{})
        .then([out](const v1::DevicesStatus& x) { *out = x; });
      return {};
    }));
  run();
  REQUIRE(out->has_value());
  CHECK((*out)->agent_id() == "a");
  CHECK((*out)->gpus_size() == 0);
}
