#include "runtime/devices/numa_binding.hpp"
#include "runtime/devices/numa_topology.hpp"
#include "tests/support/catch.hpp"

#include <cerrno>
#include <map>
#include <string>
#include <vector>

namespace actorrun::test::numa_binding_test {

using namespace actorrun::detail;

namespace {

using lines = std::vector<std::string>;

/// Two NUMA nodes of two cores each; four GPUs, two near each node, the first
/// two near the second node.
struct machine {
  binding_order order;
  std::map<std::string, uint32_t> nodes{{"0000:01:00.0", 1},
                                        {"0000:02:00.0", 1},
                                        {"0000:03:00.0", 0},
                                        {"0000:04:00.0", 0}};

  explicit machine(uint32_t workers,
                   core::binding_mode mode = core::binding_mode::node) {
    order.mode = mode;
    order.worker_count = workers;
    order.gpus = [] { return std::vector<core::gpu_identity>{}; };
    order.topology = [] { return read_topology("pack:2 [numa] core:2 pu:1"); };
    order.numa_node = [this](const std::string& address) {
      const auto i = nodes.find(address);
      return i == nodes.end() ? std::nullopt
                              : std::optional<uint32_t>{i->second};
    };
    order.check_memory = [](const core::process_binding&) { return 0; };
  }

  void add_gpus() {
    order.gpus = [this] {
      auto out = std::vector<core::gpu_identity>{};
      for (const auto& [address, node] : nodes)
        out.push_back({.uuid = "GPU-" + address, .pci_address = address});
      return out;
    };
  }

  lines report() const {
    const auto bound = bind_workers(order);
    INFO((bound ? "" : bound.error().text));
    REQUIRE(bound);
    if (order.mode != core::binding_mode::none)
      CHECK(bound->by_rank.size() == order.worker_count);
    return bound->report;
  }
};

} // namespace

TEST_CASE("numa_binding: without GPUs the NUMA nodes take turns", "[runtime]") {
  CHECK(machine{3}.report()
        == lines{"local rank 0: CPUs 0-1 of NUMA node 0, memory of NUMA node 0 "
                 "preferred",
                 "local rank 1: CPUs 2-3 of NUMA node 1, memory of NUMA node 1 "
                 "preferred",
                 "local rank 2: CPUs 0-1 of NUMA node 0, memory of NUMA node 0 "
                 "preferred"});
}

TEST_CASE("numa_binding: each worker is near its GPU", "[runtime]") {
  auto uut = machine{3, core::binding_mode::exclusive};
  uut.add_gpus();
  CHECK(uut.report()
        == lines{"local rank 0: CPU 2 of NUMA node 1, memory of NUMA node 1 "
                 "preferred, GPU 0 (0000:01:00.0)",
                 "local rank 1: CPU 3 of NUMA node 1, memory of NUMA node 1 "
                 "preferred, GPU 1 (0000:02:00.0)",
                 "local rank 2: CPUs 0-1 of NUMA node 0, memory of NUMA node 0 "
                 "preferred, GPU 2 (0000:03:00.0)"});
}

TEST_CASE("numa_binding: the GPUs are those that the workers see",
          "[runtime]") {
  auto uut = machine{2};
  uut.add_gpus();
  uut.order.visible_devices = "3,0";
  const auto report = uut.report();
  CHECK(report[0].ends_with("of NUMA node 0 preferred, GPU 3 (0000:04:00.0)"));
  CHECK(report[1].ends_with("of NUMA node 1 preferred, GPU 0 (0000:01:00.0)"));
  uut.order.visible_devices = "";
  CHECK(uut.report()[0].ends_with("of NUMA node 0 preferred"));
}

TEST_CASE("numa_binding: more workers than GPUs begin again with the first",
          "[runtime]") {
  auto uut = machine{5};
  uut.add_gpus();
  CHECK(uut.report()[4].ends_with("GPU 0 (0000:01:00.0)"));
}

TEST_CASE("numa_binding: a GPU that the kernel cannot place takes a turn",
          "[runtime]") {
  auto uut = machine{1};
  uut.order.gpus
    = [] { return std::vector<core::gpu_identity>{{.uuid = "GPU-x"}}; };
  CHECK(uut.report()[0].starts_with("local rank 0: CPUs 0-1 of NUMA node 0"));
}

TEST_CASE("numa_binding: a driver that fails counts as none and is reported",
          "[runtime]") {
  auto uut = machine{1};
  uut.order.gpus = []() -> result<std::vector<core::gpu_identity>> {
    return failure{errc::system_failure, "lost"};
  };
  const auto bound = bind_workers(uut.order);
  REQUIRE(bound);
  CHECK(bound->report[0].ends_with("memory of NUMA node 0 preferred"));
  CHECK(bound->warnings
        == lines{"workers are bound without regard to GPUs: lost"});
}

TEST_CASE("numa_binding: a GPU that is chosen by UUID is reported by UUID",
          "[runtime]") {
  auto uut = machine{1};
  uut.add_gpus();
  uut.order.visible_devices = "GPU-0000:02";
  CHECK(uut.report()[0].ends_with(", GPU-0000:02 (0000:02:00.0)"));
}

TEST_CASE("numa_binding: where memory may not be placed CPUs are bound alone",
          "[runtime]") {
  auto uut = machine{2};
  uut.order.check_memory = [](const core::process_binding&) { return EPERM; };
  const auto bound = bind_workers(uut.order);
  REQUIRE(bound);
  CHECK(bound->by_rank[1] == core::process_binding{.cpus = {2, 3}});
  CHECK(bound->report[1] == "local rank 1: CPUs 2-3 of NUMA node 1");
  REQUIRE(bound->warnings.size() == 1);
  CHECK(bound->warnings[0].ends_with("(Operation not permitted)"));
}

TEST_CASE("numa_binding: a kernel that takes one NUMA node at a time does not "
          "fail a start",
          "[runtime]") {
  // The first package has one NUMA node, the second two.
  auto uut = machine{2, core::binding_mode::socket};
  uut.order.topology = [] {
    return result<std::vector<core::cpu_place>>{
      {{.cpu = 0, .core = 0, .node = 0, .package = 0},
       {.cpu = 1, .core = 1, .node = 1, .package = 1},
       {.cpu = 2, .core = 2, .node = 2, .package = 1}}};
  };
  uut.order.check_memory = [](const core::process_binding& x) {
    return x.memory_nodes.size() > 1 ? EINVAL : 0;
  };
  const auto bound = bind_workers(uut.order);
  REQUIRE(bound);
  CHECK(bound->by_rank[0] == core::process_binding{.cpus = {0}});
  CHECK(bound->by_rank[1] == core::process_binding{.cpus = {1, 2}});
  REQUIRE(bound->warnings.size() == 1);
  CHECK(bound->warnings[0].ends_with("(Invalid argument)"));
}

TEST_CASE("numa_binding: too few cores are refused", "[runtime]") {
  const auto bound
    = bind_workers(machine{5, core::binding_mode::exclusive}.order);
  REQUIRE_FALSE(bound);
  CHECK(bound.error().code == errc::bad_argument);
}

TEST_CASE("numa_binding: a machine that does not show its topology is "
          "refused",
          "[runtime]") {
  auto uut = machine{1};
  uut.order.topology = [] { return read_topology("nonsense"); };
  const auto bound = bind_workers(uut.order);
  REQUIRE_FALSE(bound);
  CHECK(bound.error().code == errc::system_failure);
}

TEST_CASE("numa_binding: a worker that is not bound has all CPUs of the agent",
          "[runtime]") {
  const auto uut = machine{2, core::binding_mode::none};
  CHECK(uut.report()
        == lines{"workers are not bound; they have the agent's CPUs 0-3"});
}

} // namespace actorrun::test::numa_binding_test
