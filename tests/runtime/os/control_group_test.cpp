#include "runtime/os/control_group.hpp"
#include "tests/support/worker_files.hpp"

#include <string>

namespace actorrun::test::control_group_test {

using namespace actorrun::detail;

namespace {

constexpr auto kilobyte = uint64_t{1'024};

/// A simulated machine: the kernel's files in a folder.
struct fixture : worker_files {
  fixture() { write("proc/meminfo", "MemFree: 1 kB\nMemTotal:   9000 kB\n"); }

  void mount(const std::string& root, const std::string& point,
             const std::string& type, const std::string& options) {
    table_ += "33 32 0:29 " + root + " " + path(point) + " rw - " + type + " "
              + type + " rw" + options + "\n";
    write("proc/self/mountinfo", table_);
  }

  /// Version 2, with this process in a group below another one.
  void unify() {
    write("proc/self/cgroup", "0::/job/1\n");
    mount("/", "unified", "cgroup2", "");
  }

  void limit(const std::string& file, const std::string& value) {
    write(file, value + "\n");
  }

  std::optional<uint64_t> limit() const { return memory_limit(path("proc")); }

private:
  std::string table_ = "1 0 8:1 / / rw - ext4 /dev/vda1 rw\n";
};

} // namespace

TEST_CASE_METHOD(fixture, "memory_limit: is the machine's without a group",
                 "[runtime]") {
  CHECK(limit() == 9'000 * kilobyte);
  write("proc/meminfo", "nonsense\n");
  CHECK(limit() == std::nullopt);
}

TEST_CASE_METHOD(fixture, "memory_limit: is the group's if that is less",
                 "[runtime]") {
  unify();
  limit("unified/job/1/memory.max", "4096000");
  CHECK(limit() == 4'096'000);
  limit("unified/job/1/memory.max", "max");
  CHECK(limit() == 9'000 * kilobyte);
  limit("unified/job/1/memory.max", "99999999999");
  CHECK(limit() == 9'000 * kilobyte);
  limit("unified/job/1/memory.max", "0"); // No process could live there.
  CHECK(limit() == 9'000 * kilobyte);
}

TEST_CASE_METHOD(fixture, "memory_limit: groups above limit, too",
                 "[runtime]") {
  unify();
  limit("unified/job/1/memory.max", "5000000");
  limit("unified/job/memory.max", "3000000");
  CHECK(limit() == 3'000'000);
  limit("unified/memory.max", "2000000");
  CHECK(limit() == 2'000'000);
  limit("memory.max", "1"); // Above the mount: none of the hierarchy.
  CHECK(limit() == 2'000'000);
  limit("unified/job/1/memory.max", "1000000");
  CHECK(limit() == 1'000'000);
}

TEST_CASE_METHOD(fixture, "memory_limit: version 1 has another file",
                 "[runtime]") {
  write("proc/self/cgroup", "9:cpuset:/x\n4:cpu,memory:/job\n0::/\n");
  mount("/", "cpuset", "cgroup", ",cpuset");
  mount("/", "memory", "cgroup", ",memory");
  limit("memory/job/memory.limit_in_bytes", "9223372036854771712");
  CHECK(limit() == 9'000 * kilobyte); // Means none.
  limit("memory/memory.limit_in_bytes", "6000000");
  CHECK(limit() == 6'000'000);
  limit("cpuset/x/memory.limit_in_bytes", "1");
  CHECK(limit() == 6'000'000);
}

TEST_CASE_METHOD(fixture, "memory_limit: a container sees its own mount",
                 "[runtime]") {
  write("proc/self/cgroup", "0::/docker/4f\n");
  mount("/docker/4f", "unified", "cgroup2", "");
  limit("unified/memory.max", "3000000");
  CHECK(limit() == 3'000'000);
  write("proc/self/cgroup", "0::/of/the/host\n");
  CHECK(limit() == 3'000'000);
}

TEST_CASE_METHOD(
  fixture,
  "memory_limit: a group whose name only begins like the mount's "
  "is not below it",
  "[runtime]") {
  write("proc/self/cgroup", "0::/docker/4f77\n");
  mount("/docker/4f", "unified", "cgroup2", "");
  limit("unified/memory.max", "3000000");
  limit("unified77/memory.max", "1000000");
  CHECK(limit() == 3'000'000);
}

TEST_CASE("memory_limit: this machine has some", "[runtime]") {
  const auto here = memory_limit();
  REQUIRE(here);
  CHECK(*here > 1'000 * kilobyte);
}

} // namespace actorrun::test::control_group_test
