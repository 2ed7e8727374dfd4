#include "cli/options/host_facts.hpp"
#include "tests/support/catch.hpp"

#include <csignal>
#include <cstdlib>

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

namespace actorrun::test::host_facts_test {

using namespace actorrun::cli;

TEST_CASE("host facts: this process has variables, CPUs and new ids", "[cli]") {
  const auto world = this_process();
  REQUIRE(::setenv("ACTORRUN_TEST_VARIABLE", "x", 1) == 0);
  CHECK(world.variable("ACTORRUN_TEST_VARIABLE") == "x");
  REQUIRE(::unsetenv("ACTORRUN_TEST_VARIABLE") == 0);
  CHECK_FALSE(world.variable("ACTORRUN_TEST_VARIABLE"));
  const auto id = world.random_id();
  CHECK(id.size() == 36);
  CHECK(id != world.random_id());
}

TEST_CASE("host facts: the CPUs are those that this thread may use", "[cli]") {
  const auto world = this_process();
  cpu_set_t before;
  REQUIRE(::sched_getaffinity(0, sizeof(before), &before) == 0);
  CHECK(world.cpu_count() == uint32_t(CPU_COUNT(&before)));
  cpu_set_t one;
  CPU_ZERO(&one);
  for (size_t i = 0; CPU_COUNT(&one) == 0; ++i)
    if (CPU_ISSET(i, &before))
      CPU_SET(i, &one);
  REQUIRE(::sched_setaffinity(0, sizeof(one), &one) == 0);
  CHECK(world.cpu_count() == 1);
  REQUIRE(::sched_setaffinity(0, sizeof(before), &before) == 0);
}

TEST_CASE("host facts: an ignored signal is recognised (U15)", "[cli]") {
  const auto world = this_process();
  const auto before = ::signal(SIGHUP, SIG_DFL);
  CHECK_FALSE(world.is_ignored(SIGHUP));
  ::signal(SIGHUP, SIG_IGN);
  CHECK(world.is_ignored(SIGHUP));
  ::signal(SIGHUP, before);
}

TEST_CASE("host facts: U11 a folder is where this process may make it",
          "[cli]") {
  const auto world = this_process();
  CHECK(world.may_write_in("/tmp"));
  CHECK(world.may_write_in("/tmp/not-there/nor/this"));
  CHECK_FALSE(world.may_write_in("/dev/null/home/.local/state"));
}

TEST_CASE("host facts: a descriptor is what it is open for", "[cli]") {
  const auto world = this_process();
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const auto in = world.descriptor(ends[0]);
  CHECK(in.is_open);
  CHECK(in.is_pipe);
  CHECK(in.is_readable);
  CHECK_FALSE(in.is_writable);
  CHECK_FALSE(world.descriptor(ends[1]).is_readable);
  CHECK(world.descriptor(ends[1]).is_writable);
  ::close(ends[0]);
  ::close(ends[1]);
  CHECK_FALSE(world.descriptor(ends[0]).is_open);
  const auto file = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  const auto both = world.descriptor(file);
  ::close(file);
  CHECK_FALSE(both.is_pipe);
  CHECK(both.is_readable);
  CHECK(both.is_writable);
}

} // namespace actorrun::test::host_facts_test
