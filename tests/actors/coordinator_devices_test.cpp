// Tests how the coordinator collects and reports the devices of its agents.
#include "tests/actors/coordinator_fixture.hpp"
#include "tests/support/fake_device_monitor.hpp"

#include <algorithm>
#include <string>

namespace actorrun::test::coordinator_devices_test {

namespace {

struct devices_fixture : coordinator_fixture {
  static v1::NodeStatus devices(const std::string& id,
                                const core::devices_status& x) {
    auto out = to_wire(x);
    out.set_agent_id(id);
    return out;
  }

  void announce(const agent_recorder& from, const std::string& id,
                const core::devices_status& x) {
    send(from.handle, uut, devices(id, x));
  }
};

} // namespace

TEST_CASE_METHOD(devices_fixture,
                 "coordinator: agents without devices have none in the status",
                 "[actors]") {
  run_two();
  CHECK(status().agents(0).gpus_size() == 0);
}

TEST_CASE_METHOD(devices_fixture,
                 "coordinator: the status has what agents see when they are "
                 "asked",
                 "[actors]") {
  run_two();
  announce(b, "2", one_gpu(1));
  *b.status = devices("2", one_gpu(5));
  const auto seen = status();
  CHECK(seen.agents(0).gpus_size() == 0);
  REQUIRE(seen.agents(1).gpus_size() == 1);
  const auto& gpu = seen.agents(1).gpus(0);
  CHECK(gpu.name() == "N");
  CHECK(gpu.uuid() == "GPU-a");
  CHECK(gpu.memory_used() == 5);
  CHECK(gpu.memory_total() == 9);
  CHECK(gpu.utilisation() == 50);
  CHECK_FALSE(gpu.has_temperature());
}

TEST_CASE_METHOD(devices_fixture,
                 "coordinator: an agent that does not answer is shown as last "
                 "seen, half a second later",
                 "[actors]") {
  run_two();
  announce(a, "1", one_gpu(1));
  announce(b, "2", one_gpu(2));
  *a.status = devices("1", one_gpu(7));
  b.status->reset();
  const auto seen = ask_status(uut);
  advance(499ms);
  CHECK_FALSE(seen->has_value());
  advance(1ms);
  REQUIRE(seen->has_value());
  CHECK((*seen)->agents(0).gpus(0).memory_used() == 7);
  CHECK((*seen)->agents(1).gpus(0).memory_used() == 2);
}

TEST_CASE_METHOD(devices_fixture,
                 "coordinator: a failing GPU is logged with its node, once",
                 "[actors]") {
  run_two_leased();
  lines.told();
  announce(b, "2", one_gpu(1));
  CHECK(lines.told().empty());
  announce(b, "2", one_gpu(1, "XID 79"));
  CHECK(lines.told()
        == "warning coordinator flags node node-2: GPU 0: XID 79\n");
  announce(b, "2", one_gpu(2, "XID 79"));
  CHECK(lines.told().empty());
  *b.status = devices("2", one_gpu(2, "XID 79"));
  CHECK(status().agents(1).gpus(0).trouble() == "XID 79");
}

TEST_CASE_METHOD(devices_fixture,
                 "coordinator: the agent of its own process logs its failing "
                 "GPUs itself",
                 "[actors]") {
  run_two();
  lines.told();
  announce(b, "2", one_gpu(1, "XID 79"));
  CHECK(lines.told().empty());
}

TEST_CASE_METHOD(devices_fixture,
                 "coordinator: a failing driver is reported with its node",
                 "[actors]") {
  run_two();
  const auto failing
    = core::devices_status{.gpus = {}, .trouble = "driver/library mismatch"};
  announce(a, "1", failing);
  *a.status = devices("1", failing);
  CHECK(status().agents(0).gpu_trouble() == "driver/library mismatch");
}

TEST_CASE_METHOD(devices_fixture,
                 "coordinator: devices of unknown agents are ignored",
                 "[actors]") {
  run_two();
  announce(a, "9", one_gpu(1));
  CHECK(status().agents_size() == 2);
}

TEST_CASE_METHOD(devices_fixture,
                 "coordinator: the status has the GPUs of all nodes, however "
                 "many",
                 "[actors]") {
  a = local();
  auto many = core::devices_status{};
  for (uint32_t i = 0; i < core::gpus_per_node_max; ++i)
    many.gpus.push_back({.index = i,
                         .name = std::string(96, 'n'),
                         .uuid = std::string(96, 'u'),
                         .trouble = std::string(256, 't')});
  for (auto i = 0; i < 4; ++i) {
    const auto id = std::to_string(1'000 + i);
    auto offered = request("1");
    offered.mutable_offer()->set_agent_id(id);
    send(a.handle, uut, offered);
    announce(a, id, many);
  }
  const auto seen = whole_status();
  CHECK(seen.ByteSizeLong() > v1::message_size_max);
  REQUIRE(seen.agents_size() == 4);
  CHECK_FALSE(seen.truncated());
  CHECK_FALSE(seen.gpus_truncated());
  for (const auto& agent : seen.agents())
    CHECK(agent.gpus_size() == int(core::gpus_per_node_max));
}

TEST_CASE_METHOD(devices_fixture,
                 "coordinator: S10 an agent whose trouble changes all the time "
                 "fills no log",
                 "[actors]") {
  run_two_leased();
  lines.told();
  for (auto i = 0; i < 1'000; ++i)
    announce(b, "2", one_gpu(1, "XID " + std::to_string(i)));
  const auto burst = std::ranges::count(lines.told(), '\n');
  CHECK(burst > 200);
  CHECK(burst < 300);
  advance(200ms); // Room for two more.
  lines.told();
  for (auto i = 0; i < 10; ++i)
    announce(b, "2", one_gpu(1, "XID " + std::to_string(i)));
  CHECK(lines.told()
        == "warning coordinator has left out " + std::to_string(1'000 - burst)
             + " lines about agents: there were too many\n"
               "warning coordinator flags node node-2: GPU 0: XID 0\n"
               "warning coordinator flags node node-2: GPU 0: XID 1\n");
}

} // namespace actorrun::test::coordinator_devices_test
