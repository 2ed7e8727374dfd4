// Binds children at their start, and checks what the kernel reports.
#include "actors/core/devices/binding_plan.hpp"
#include "runtime/devices/numa_topology.hpp"
#include "runtime/os/cpu_binding.hpp"
#include "runtime/processes/spawn.hpp"
#include "tests/runtime/processes/process_host_fixture.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/skip.hpp"

#include <cerrno>
#include <fstream>
#include <string>

#include <sys/wait.h>

namespace actorrun::test::cpu_binding_test {

using namespace actorrun::detail;
using namespace actorrun::detail::process_host_test;

namespace {

std::string status_line(pid_t pid, const std::string& name) {
  auto file = std::ifstream{"/proc/" + std::to_string(pid) + "/status"};
  for (auto line = std::string{}; std::getline(file, line);)
    if (line.starts_with(name + ":"))
      return line.substr(line.find_first_not_of(" \t", name.size() + 1));
  return "?";
}

/// The memory policy of the first mapping; empty without NUMA in the kernel.
std::string memory_policy(pid_t pid) {
  auto file = std::ifstream{"/proc/" + std::to_string(pid) + "/numa_maps"};
  auto address = std::string{};
  auto policy = std::string{};
  file >> address >> policy;
  return policy;
}

/// A CPU that this process may use: the last.
uint32_t some_cpu() {
  const auto cpus = read_topology();
  REQUIRE(cpus);
  return cpus->back().cpu;
}

struct sleeping_child {
  spawner start{};
  spawned child;

  explicit sleeping_child(const core::process_binding& binding)
    : child(start.start("/bin/sleep", {"sleep", "1000"}, {}, nullptr, {},
                        cpu_binding{binding})) {}

  ~sleeping_child() {
    if (child.pid == 0)
      return;
    ::kill(child.pid, SIGKILL);
    ::waitpid(child.pid, nullptr, 0);
  }
};

} // namespace

TEST_CASE("cpu_binding: a child is bound from its start on", "[runtime]") {
  const auto own = status_line(::getpid(), "Cpus_allowed_list");
  const auto cpu = some_cpu();
  const auto uut = sleeping_child{{.cpus = {cpu}}};
  REQUIRE(uut.child.error == 0);
  CHECK(status_line(uut.child.pid, "Cpus_allowed_list") == std::to_string(cpu));
  CHECK(status_line(uut.child.pid, "Mems_allowed_list")
        == status_line(::getpid(), "Mems_allowed_list"));
  CHECK(status_line(::getpid(), "Cpus_allowed_list") == own);
}

TEST_CASE("cpu_binding: an empty binding changes nothing", "[runtime]") {
  const auto uut = sleeping_child{{}};
  REQUIRE(uut.child.error == 0);
  CHECK(status_line(uut.child.pid, "Cpus_allowed_list")
        == status_line(::getpid(), "Cpus_allowed_list"));
  CHECK(memory_policy(uut.child.pid) == memory_policy(::getpid()));
}

TEST_CASE("cpu_binding: memory is preferred from its NUMA node", "[runtime]") {
  const auto binding = core::process_binding{.cpus = {}, .memory_nodes = {0}};
  if (const auto error = check_memory_policy(binding)) {
    actorrun::test::skip("numa", "the system forbids memory policies: "
                                   + std::to_string(error));
    return;
  }
  const auto before = memory_policy(::getpid());
  const auto uut = sleeping_child{binding};
  REQUIRE(uut.child.error == 0);
  CHECK(memory_policy(uut.child.pid) == "prefer:0");
  CHECK(memory_policy(::getpid()) == before);
}

TEST_CASE("cpu_binding: several NUMA nodes are preferred together",
          "[runtime]") {
  // The kernel leaves out nodes that do not exist.
  const auto binding
    = core::process_binding{.cpus = {}, .memory_nodes = {0, 1}};
  if (const auto error = check_memory_policy(binding)) {
    actorrun::test::skip("numa", "the system forbids such memory policies: "
                                   + std::to_string(error));
    return;
  }
  const auto uut = sleeping_child{binding};
  REQUIRE(uut.child.error == 0);
  CHECK(memory_policy(uut.child.pid).starts_with("prefer"));
}

TEST_CASE("cpu_binding: a child that cannot be bound is not started",
          "[runtime]") {
  for (const auto cpu : {cpu_binding::cpus_max - 1, 60'000u}) {
    const auto uut = sleeping_child{{.cpus = {cpu}}};
    CHECK(uut.child.pid == 0);
    CHECK(uut.child.error == EINVAL);
  }
}

TEST_CASE_METHOD(fixture,
                 "cpu_binding: the process host binds, and names the CPUs "
                 "that failed",
                 "[runtime]") {
  const auto cpu = some_cpu();
  auto good = worker(0, {"sleep", "1000"});
  good.binding.cpus = {cpu};
  auto bad = worker(1, {"sleep", "1000"});
  bad.binding.cpus = {60'000, 60'001};
  start({good, bad});
  REQUIRE(wait_for_events(2));
  CHECK(trace() == "started 0; not started 1: EINVAL");
  CHECK(all<ports::process_not_started>().front().subject
        == "sleep (bound to the CPUs 60000-60001)");
  CHECK(status_line(pid_of(0), "Cpus_allowed_list") == std::to_string(cpu));
}

TEST_CASE_METHOD(fixture, "cpu_binding: functions are not bound", "[runtime]") {
  auto bound = function(0, [] { return 0; });
  bound.binding.cpus = {0};
  start({bound});
  REQUIRE(wait_for_events(1));
  CHECK(trace() == "not started 0: EINVAL");
  CHECK(all<ports::process_not_started>().front().subject
        == "function (only programs can be bound to CPUs)");
}

} // namespace actorrun::test::cpu_binding_test
