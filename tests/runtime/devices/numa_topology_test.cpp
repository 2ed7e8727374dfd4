#include "actors/core/text.hpp"
#include "runtime/devices/numa_topology.hpp"
#include "tests/runtime/script_folder.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <sched.h>

namespace actorrun::test::numa_topology_test {

using namespace actorrun::detail;
using actorrun::detail::script_test::folder;

namespace {

std::vector<core::cpu_place> machine(const std::string& text) {
  const auto cpus = read_topology(text);
  INFO((cpus ? "" : cpus.error().text));
  REQUIRE(cpus);
  return *cpus;
}

/// Number of different values of `property` among the CPUs.
size_t kinds(const std::vector<core::cpu_place>& cpus,
             uint32_t core::cpu_place::*property) {
  auto out = std::set<uint32_t>{};
  for (const auto& x : cpus)
    out.insert(x.*property);
  return out.size();
}

} // namespace

TEST_CASE("numa_topology: packages, NUMA nodes, caches, cores and threads are "
          "distinguished",
          "[runtime]") {
  const auto cpus = machine("pack:2 [numa] l3:2 core:3 pu:2");
  CHECK(cpus.size() == 24);
  CHECK(kinds(cpus, &core::cpu_place::package) == 2);
  CHECK(kinds(cpus, &core::cpu_place::node) == 2);
  CHECK(kinds(cpus, &core::cpu_place::cache) == 4);
  CHECK(kinds(cpus, &core::cpu_place::core) == 12);
  CHECK(kinds(cpus, &core::cpu_place::cpu) == 24);
  CHECK(cpus.front().node == 0);
  CHECK(cpus.back().node == 1);
  CHECK(
    std::is_sorted(cpus.begin(), cpus.end(),
                   [](const auto& a, const auto& b) { return a.cpu < b.cpu; }));
}

TEST_CASE("numa_topology: a package may have several NUMA nodes", "[runtime]") {
  const auto cpus = machine("pack:2 [numa] group:2 [numa] core:2 pu:1");
  CHECK(kinds(cpus, &core::cpu_place::package) == 2);
  // The package's own memory is farther than that of each half.
  CHECK(kinds(cpus, &core::cpu_place::node) == 4);
}

TEST_CASE("numa_topology: memory without CPUs is no NUMA node", "[runtime]") {
  // Node 0 is equally near to all CPUs, 1 and 2 are those of the packages.
  const auto cpus = machine("[numa(indexes=1,2,0)] pack:2 [numa] core:2 pu:1");
  REQUIRE(cpus.size() == 4);
  CHECK(cpus[0].node == 1);
  CHECK(cpus[1].node == 1);
  CHECK(cpus[2].node == 2);
  CHECK(cpus[3].node == 2);
  // Of two memories at the same distance the first counts.
  const auto fast = machine("pack:2 [numa] [numa] core:1 pu:1");
  CHECK(fast.front().node == 0);
  CHECK(fast.back().node == 2);
}

TEST_CASE("numa_topology: caches of the second level count without a third",
          "[runtime]") {
  const auto cpus = machine("pack:1 l2:3 core:1 pu:2");
  CHECK(kinds(cpus, &core::cpu_place::cache) == 3);
  CHECK(kinds(cpus, &core::cpu_place::core) == 3);
  CHECK(kinds(cpus, &core::cpu_place::node) == 1);
}

TEST_CASE("numa_topology: a machine without details has one of each",
          "[runtime]") {
  const auto cpus = machine("pu:4");
  CHECK(cpus.size() == 4);
  CHECK(kinds(cpus, &core::cpu_place::package) == 1);
  CHECK(kinds(cpus, &core::cpu_place::node) == 1);
  CHECK(kinds(cpus, &core::cpu_place::cache) == 1);
  CHECK(kinds(cpus, &core::cpu_place::core) == 4);
}

TEST_CASE("numa_topology: workers can be bound on synthetic machines",
          "[runtime]") {
  const auto cpus = machine("pack:2 [numa] l3:2 core:2 pu:2");
  const auto nodes
    = core::choose_numa_nodes(cpus, std::vector<std::optional<uint32_t>>(3));
  REQUIRE(nodes);
  const auto plan = [&](core::binding_mode mode) {
    auto out = std::string{};
    const auto bound = core::plan_bindings(mode, cpus, *nodes);
    for (const auto& x : *bound)
      out += (out.empty() ? "" : " | ") + core::to_ranges(x.cpus);
    return out;
  };
  using enum core::binding_mode;
  CHECK(plan(node) == "0-7 | 8-15 | 0-7");
  CHECK(plan(socket) == "0-7 | 8-15 | 0-7");
  CHECK(plan(exclusive) == "0-3 | 8-15 | 4-7");
  CHECK(plan(core_complex) == "0-3 | 8-11 | 4-7");
}

TEST_CASE(
  "numa_topology: on this machine it shows the CPUs that the process may use",
  "[runtime]") {
  auto own = cpu_set_t{};
  REQUIRE(::sched_getaffinity(0, sizeof own, &own) == 0);
  const auto cpus = machine("");
  CHECK(cpus.size() == size_t(CPU_COUNT(&own)));
  for (const auto& x : cpus)
    CHECK(CPU_ISSET(x.cpu, &own));
}

TEST_CASE("numa_topology: CPUs outside the affinity mask are left out",
          "[runtime]") {
  auto own = cpu_set_t{};
  REQUIRE(::sched_getaffinity(0, sizeof own, &own) == 0);
  const auto last = machine("").back().cpu;
  auto one = cpu_set_t{};
  CPU_SET(last, &one);
  REQUIRE(::sched_setaffinity(0, sizeof one, &one) == 0);
  const auto cpus = read_topology();
  ::sched_setaffinity(0, sizeof own, &own);
  REQUIRE(cpus);
  REQUIRE(cpus->size() == 1);
  CHECK(cpus->front().cpu == last);
}

TEST_CASE("numa_topology: a missing hwloc is named with its package",
          "[runtime]") {
  const auto cpus = read_topology({}, "libnone.so.1");
  REQUIRE_FALSE(cpus);
  CHECK(cpus.error().code == errc::system_failure);
  CHECK(cpus.error().text.find("libnone.so.1") != std::string::npos);
  CHECK(cpus.error().text.ends_with("; install it (Debian: libhwloc15)"));
  CHECK_FALSE(read_topology({}, "libc.so.6"));
  CHECK_FALSE(read_topology("nonsense"));
}

TEST_CASE("numa_topology: the NUMA node of a device is the kernel's",
          "[runtime]") {
  const auto here = folder{};
  const auto put = [&](const std::string& address, const std::string& text) {
    std::filesystem::create_directory(here.path / address);
    std::ofstream{here.path / address / "numa_node"} << text;
  };
  put("0000:65:00.0", "1\n");
  put("0000:66:00.0", "-1\n");
  put("0000:67:00.0", "");
  CHECK(numa_node_of("0000:65:00.0", here.path) == 1u);
  CHECK(numa_node_of("0000:66:00.0", here.path) == 0u);
  CHECK(numa_node_of("0000:67:00.0", here.path) == std::nullopt);
  CHECK(numa_node_of("0000:68:00.0", here.path) == std::nullopt);
}

} // namespace actorrun::test::numa_topology_test
