#include "runtime/diagnosis/oom_counter.hpp"
#include "tests/runtime/small_group.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/skip.hpp"
#include "tests/support/worker_files.hpp"

#include <csignal>
#include <cstddef>
#include <string>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace actorrun::test::oom_counter_test {

using namespace actorrun::detail;
using actorrun::test::small_group;

namespace {

constexpr auto counters_v2 = "low 0\nhigh 7\nmax 9\noom 3\noom_kill ";
constexpr auto counters_v1 = "oom_kill_disable 0\nunder_oom 0\noom_kill ";
constexpr auto counters_machine = "nr_free_pages 5\noom_kill ";

/// A simulated machine: the kernel's files in a folder.
struct fixture : worker_files {
  void set(const std::string& name, const std::string& counters, int value) {
    write(name, counters + std::to_string(value) + "\nother 1\n");
  }

  /// Where control groups are mounted; `type` and the rest in the kernel's
  /// format.
  void mount(const std::string& root, const std::string& point,
             const std::string& type, const std::string& options) {
    table_ += "33 32 0:29 " + root + " " + path(point)
              + " rw,nosuid shared:9 master:1 - " + type + " " + type + " rw"
              + options + "\n";
    write("proc/self/mountinfo", table_);
  }

  void group(const std::string& lines) { write("proc/self/cgroup", lines); }

  oom_counter open() const { return oom_counter{path("proc")}; }

private:
  std::string table_ = "1 0 8:1 / / rw - ext4 /dev/vda1 rw\n"
                       "broken line\n"
                       "2 1 0:2 / /proc rw - proc\n";
};

} // namespace

TEST_CASE_METHOD(fixture, "oom_counter: each can be claimed once",
                 "[runtime]") {
  set("proc/vmstat", counters_machine, 5);
  auto uut = open();
  CHECK_FALSE(uut.claim()); // It has not begun yet.
  uut.begin();
  CHECK_FALSE(uut.claim());
  set("proc/vmstat", counters_machine, 7);
  CHECK(uut.claim());
  CHECK(uut.claim());
  CHECK_FALSE(uut.claim());
  set("proc/vmstat", counters_machine, 8);
  uut.begin();
  CHECK_FALSE(uut.claim());
}

TEST_CASE_METHOD(fixture, "oom_counter: the own control group counts most",
                 "[runtime]") {
  group("4:memory:/\n0::/job/1\n");
  mount("/", "unified", "cgroup2", "");
  set("unified/job/1/memory.events", counters_v2, 2);
  set("proc/vmstat", counters_machine, 5);
  auto uut = open();
  CHECK(uut.source() == path("unified/job/1/memory.events"));
  uut.begin();
  set("proc/vmstat", counters_machine, 6); // Of another process.
  CHECK_FALSE(uut.claim());
  set("unified/job/1/memory.events", counters_v2, 3);
  CHECK(uut.claim());
}

TEST_CASE_METHOD(fixture,
                 "oom_counter: control groups of version 1 are read, too",
                 "[runtime]") {
  group("9:name=systemd:/\n4:cpu,memory:/job\n0::/\n");
  mount("/", "cpuset", "cgroup", ",cpuset");
  mount("/", "memory", "cgroup", ",memory");
  mount("/", "unified", "cgroup2", "");
  set("memory/job/memory.oom_control", counters_v1, 2);
  auto uut = open();
  CHECK(uut.source() == path("memory/job/memory.oom_control"));
  uut.begin();
  set("memory/job/memory.oom_control", counters_v1, 3);
  CHECK(uut.claim());
}

TEST_CASE_METHOD(fixture, "oom_counter: a container shows a part of the tree",
                 "[runtime]") {
  group("0::/docker/4f/workers\n");
  mount("/docker/4f", "a\\040b", "cgroup2", "");
  set("a b/workers/memory.events", counters_v2, 0);
  CHECK(open().source() == path("a b/workers/memory.events"));
  group("0::/somewhere/else\n");
  set("a b/memory.events", counters_v2, 0);
  CHECK(open().source() == path("a b/memory.events"));
}

TEST_CASE_METHOD(fixture, "oom_counter: without a counter there are no kills",
                 "[runtime]") {
  auto uut = open();
  CHECK(uut.source() == "");
  uut.begin();
  CHECK_FALSE(uut.claim());
  // Kernels before 4.13.
  write("proc/vmstat", "nr_free_pages 5\n");
  CHECK(open().source() == "");
}

TEST_CASE_METHOD(fixture,
                 "oom_counter: a counter that disappears does not count",
                 "[runtime]") {
  set("proc/vmstat", counters_machine, 5);
  auto uut = open();
  uut.begin();
  std::filesystem::remove(path("proc/vmstat"));
  CHECK_FALSE(uut.claim());
  uut.begin(); // It begins without a counter.
  set("proc/vmstat", counters_machine, 9);
  CHECK_FALSE(uut.claim());
}

namespace {

constexpr auto group_memory = size_t{32} * 1'024 * 1'024;

// Allocates and uses more memory than the group has.
[[noreturn]] void run_short() {
  const auto size = 16 * group_memory;
  auto* bytes = static_cast<char*>(::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  for (size_t i = 0; i < size; i += 4'096)
    bytes[i] = 1;
  ::_exit(0);
}

int status_of(pid_t child) {
  auto status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

// Runs in a child that is alone in the group.
int watch_a_kill(const small_group& group) {
  if (!group.put("cgroup.procs", "0"))
    return 10;
  auto uut = oom_counter{};
  uut.begin();
  const auto hog = ::fork();
  if (hog == 0)
    run_short();
  const auto status = status_of(hog);
  if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
    return 11;
  if (!uut.claim())
    return 12;
  return uut.claim() ? 13 : 0;
}

} // namespace

TEST_CASE("oom_counter: kills by the kernel are noticed", "[runtime]") {
  const auto group = small_group{group_memory};
  if (group.folder.empty()) {
    actorrun::test::skip("cgroup", "no control group may limit memory here");
    return;
  }
  const auto child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0)
    ::_exit(watch_a_kill(group));
  const auto status = status_of(child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

} // namespace actorrun::test::oom_counter_test
