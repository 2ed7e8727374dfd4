#include "actors/core/devices/binding_plan.hpp"
#include "actors/core/text.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace actorrun::test::binding_plan_test {

using namespace actorrun::core;

namespace {

using places = std::vector<cpu_place>;

struct shape {
  uint32_t packages = 1;
  uint32_t nodes_per_package = 1;
  uint32_t caches_per_node = 1;
  uint32_t cores_per_cache = 1;
  uint32_t threads = 1;
};

/// Numbered as Linux does: first one thread of every core, then the others.
places machine(const shape& x) {
  const auto nodes = x.packages * x.nodes_per_package;
  const auto caches = nodes * x.caches_per_node;
  const auto cores = caches * x.cores_per_cache;
  auto out = places{};
  for (uint32_t thread = 0; thread < x.threads; ++thread)
    for (uint32_t core = 0; core < cores; ++core) {
      const auto cache = core / x.cores_per_cache;
      const auto node = cache / x.caches_per_node;
      out.push_back({.cpu = thread * cores + core,
                     .core = core,
                     .cache = cache,
                     .node = node,
                     .package = node / x.nodes_per_package});
    }
  return out;
}

/// Two packages of two NUMA nodes of two caches of two cores of two threads:
/// CPUs 0-31, CPU n and n+16 are one core.
const auto large = machine({2, 2, 2, 2, 2});

/// One NUMA node with four cores.
const auto small = machine({1, 1, 1, 4, 1});

/// The CPUs of each worker, separated by `|`, and after `/` the nodes of its
/// memory.
std::string plan(binding_mode mode, const places& cpus,
                 const std::vector<uint32_t>& nodes) {
  const auto bound = plan_bindings(mode, cpus, nodes);
  if (!bound)
    return "error: " + bound.error().text;
  auto out = std::string{};
  for (const auto& x : *bound) {
    out += (out.empty() ? "" : " | ") + to_ranges(x.cpus);
    if (!x.memory_nodes.empty())
      out += "/" + to_ranges(x.memory_nodes);
  }
  return out;
}

std::vector<uint32_t> turns(const places& cpus, size_t count) {
  const auto none = std::vector<std::optional<uint32_t>>(count);
  return *choose_numa_nodes(cpus, none);
}

places without(places from, std::set<uint32_t> cpus) {
  std::erase_if(from, [&](const auto& x) { return cpus.contains(x.cpu); });
  return from;
}

} // namespace

TEST_CASE("binding_plan: workers without a GPU take NUMA nodes in turn",
          "[core]") {
  CHECK(turns(large, 6) == std::vector<uint32_t>{0, 1, 2, 3, 0, 1});
  CHECK(turns(small, 3) == std::vector<uint32_t>{0, 0, 0});
}

TEST_CASE("binding_plan: NUMA nodes without a usable CPU are left out",
          "[core]") {
  const auto some = without(large, {0, 1, 2, 3, 16, 17, 18, 19});
  CHECK(turns(some, 4) == std::vector<uint32_t>{1, 2, 3, 1});
}

TEST_CASE("binding_plan: a worker is near its GPU, the others take turns",
          "[core]") {
  const auto wished = std::vector<std::optional<uint32_t>>{3, {}, 3, {}, 0};
  const auto nodes = choose_numa_nodes(large, wished);
  REQUIRE(nodes);
  CHECK(*nodes == std::vector<uint32_t>{3, 0, 3, 1, 0});
}

TEST_CASE("binding_plan: a GPU whose CPUs may not be used is refused",
          "[core]") {
  const auto wished = std::vector<std::optional<uint32_t>>{0, 2};
  const auto nodes = choose_numa_nodes(machine({2, 1, 1, 2, 1}), wished);
  REQUIRE_FALSE(nodes);
  CHECK(nodes.error().code == errc::bad_argument);
  CHECK(nodes.error().text
        == "the GPU of local rank 1 is at NUMA node 2, of which no CPU may be "
           "used here");
  CHECK_FALSE(choose_numa_nodes({}, wished));
}

TEST_CASE("binding_plan: none binds no worker", "[core]") {
  const auto bound
    = plan_bindings(binding_mode::none, large, std::vector{0u, 1u});
  REQUIRE(bound);
  CHECK(*bound == std::vector<process_binding>(2));
}

TEST_CASE("binding_plan: node gives all CPUs of the NUMA node", "[core]") {
  CHECK(plan(binding_mode::node, large, {0, 3, 0})
        == "0-3,16-19/0 | 12-15,28-31/3 | 0-3,16-19/0");
}

TEST_CASE("binding_plan: socket gives all CPUs of the package", "[core]") {
  CHECK(plan(binding_mode::socket, large, {1, 2})
        == "0-7,16-23/0-1 | 8-15,24-31/2-3");
}

TEST_CASE("binding_plan: a NUMA node of two packages has the CPUs of both",
          "[core]") {
  auto odd = machine({2, 1, 1, 2, 1});
  for (auto& x : odd)
    x.node = 0;
  CHECK(plan(binding_mode::socket, odd, {0}) == "0-3");
}

TEST_CASE("binding_plan: exclusive divides the cores of a NUMA node",
          "[core]") {
  CHECK(plan(binding_mode::exclusive, large, {0, 0})
        == "0-1,16-17/0 | 2-3,18-19/0");
  CHECK(plan(binding_mode::exclusive, large, {0, 1, 0})
        == "0-1,16-17/0 | 4-7,20-23/1 | 2-3,18-19/0");
}

TEST_CASE("binding_plan: the first workers get the cores that are left over",
          "[core]") {
  CHECK(plan(binding_mode::exclusive, small, {0, 0, 0}) == "0-1 | 2 | 3");
  CHECK(plan(binding_mode::exclusive, machine({1, 1, 1, 7, 1}), {0, 0, 0})
        == "0-2 | 3-4 | 5-6");
}

TEST_CASE("binding_plan: exclusive needs a core for each worker", "[core]") {
  CHECK(plan(binding_mode::exclusive, small, {0, 0, 0, 0}) == "0 | 1 | 2 | 3");
  CHECK(plan(binding_mode::exclusive, small, {0, 0, 0, 0, 0})
        == "error: NUMA node 0 has 4 usable cores for 5 workers, and "
           "\"exclusive\" needs one for each; start fewer workers, or bind "
           "them to \"node\"");
}

TEST_CASE("binding_plan: exclusive workers never share a core, and none is "
          "left over",
          "[core]") {
  for (uint32_t workers = 1; workers <= 16; ++workers) {
    CAPTURE(workers);
    const auto bound
      = plan_bindings(binding_mode::exclusive, large, turns(large, workers));
    REQUIRE(bound);
    auto seen = std::set<uint32_t>{};
    auto count = size_t{0};
    for (const auto& x : *bound) {
      CHECK(std::is_sorted(x.cpus.begin(), x.cpus.end()));
      seen.insert(x.cpus.begin(), x.cpus.end());
      count += x.cpus.size();
    }
    CHECK(seen.size() == count);
    const auto used_nodes = std::min<size_t>(workers, 4);
    CHECK(count == used_nodes * 8);
  }
}

TEST_CASE("binding_plan: core-complex gives each worker a cache of its own",
          "[core]") {
  CHECK(plan(binding_mode::core_complex, large, {0, 0, 1})
        == "0-1,16-17/0 | 2-3,18-19/0 | 4-5,20-21/1");
}

TEST_CASE("binding_plan: more workers than caches begin again with the first",
          "[core]") {
  CHECK(plan(binding_mode::core_complex, large, {0, 0, 0})
        == "0-1,16-17/0 | 2-3,18-19/0 | 0-1,16-17/0");
}

TEST_CASE("binding_plan: the cache with the most CPUs goes first", "[core]") {
  const auto cut = without(machine({1, 1, 3, 2, 1}), {0});
  CHECK(plan(binding_mode::core_complex, cut, {0, 0, 0}) == "2-3 | 4-5 | 1");
}

TEST_CASE("binding_plan: with one NUMA node memory is left as it is",
          "[core]") {
  CHECK(plan(binding_mode::node, small, {0}) == "0-3");
  CHECK(plan(binding_mode::socket, small, {0}) == "0-3");
}

TEST_CASE("binding_plan: CPUs that may not be used are in no binding",
          "[core]") {
  const auto some = without(large, {0, 17});
  CHECK(plan(binding_mode::node, some, {0}) == "1-3,16,18-19/0");
  CHECK(plan(binding_mode::exclusive, some, {0, 0}) == "1,16/0 | 2-3,18-19/0");
}

TEST_CASE("binding_plan: a binding reads like a sentence", "[core]") {
  CHECK(to_string(process_binding{{0, 1}, {0}}, large)
        == "CPUs 0-1 of NUMA node 0, memory of NUMA node 0 preferred");
  CHECK(to_string(process_binding{{3, 4}, {0, 1}}, large)
        == "CPUs 3-4 of NUMA nodes 0-1, memory of NUMA nodes 0-1 preferred");
  CHECK(to_string(process_binding{{2}, {}}, small) == "CPU 2 of NUMA node 0");
  CHECK(to_string(process_binding{}, small) == "not bound");
}

} // namespace actorrun::test::binding_plan_test
