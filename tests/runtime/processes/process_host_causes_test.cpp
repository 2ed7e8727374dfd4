#include "runtime/processes/posix_process_host.hpp"
#include "tests/runtime/processes/process_host_fixture.hpp"
#include "tests/support/catch.hpp"

#include <csignal>
#include <fstream>
#include <string>

#include <sys/mman.h>
#include <unistd.h>

namespace actorrun::test::process_host_causes_test {

using namespace actorrun::detail;
using namespace actorrun::detail::process_host_test;

namespace {

constexpr auto large = size_t{512} << 20;

/// A worker that has used much memory, which takes long to free.
ports::process_spec large_worker(uint32_t rank, const std::string& file) {
  return function(rank, [file] {
    auto* const memory
      = static_cast<char*>(::mmap(nullptr, large, PROT_READ | PROT_WRITE,
                                  MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    for (auto i = size_t{0}; memory != MAP_FAILED && i < large; i += 4'096)
      memory[i] = 1;
    std::ofstream{file} << "ready\n";
    ::pause();
    return 0;
  });
}

} // namespace

TEST_CASE_METHOD(
  fixture,
  "process host: P1 a worker that another has killed was ending when"
  " the order came, however long its end takes",
  "[runtime]") {
  const auto here = folder{};
  start({large_worker(0, here / "ready")});
  REQUIRE(wait_for_events(1));
  REQUIRE(soon([&] { return content_of(here / "ready") == "ready\n"; }));
  ::kill(pid_of(0), SIGKILL);
  uut->signal(generation, SIGTERM);
  REQUIRE(wait_for_events(2));
  const auto exits = all<ports::process_exited>();
  CHECK(exits[0].signal == SIGKILL);
  CHECK(exits[0].was_ending);
  CHECK(exits[0].is_foreign);
  CHECK(exits[0].memory >= large);
}

TEST_CASE_METHOD(fixture,
                 "process host: P1 a death by a signal that was sent is none of"
                 " others, one by another signal is",
                 "[runtime]") {
  const auto here = folder{};
  const auto script = "trap 'kill -SEGV $$' TERM; echo ready > "
                      + (here / "ready") + "; while true; do sleep 0.01; done";
  start({shell(0, "exec sleep 1000"), shell(1, script)});
  REQUIRE(wait_for_events(2));
  REQUIRE(soon([&] { return content_of(here / "ready") == "ready\n"; }));
  uut->signal(generation, SIGTERM);
  REQUIRE(wait_for_events(4));
  for (const auto& x : all<ports::process_exited>()) {
    CHECK_FALSE(x.was_ending);
    CHECK(x.signal == (x.local_rank == 0 ? SIGTERM : SIGSEGV));
    CHECK(x.is_foreign == (x.local_rank == 1));
    CHECK(x.memory > 0);
  }
}

TEST_CASE_METHOD(fixture, "process host: P1 the fence's signal is its own",
                 "[runtime]") {
  start({shell(0, "exec sleep 1000")});
  REQUIRE(wait_for_events(1));
  uut->set_fence(clock_type::now());
  REQUIRE(wait_for_events(2));
  const auto exits = all<ports::process_exited>();
  CHECK(exits[0].signal == SIGKILL);
  CHECK_FALSE(exits[0].is_foreign);
}

} // namespace actorrun::test::process_host_causes_test
