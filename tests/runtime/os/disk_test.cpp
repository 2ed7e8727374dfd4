#include "runtime/os/disk.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::disk_test {

using namespace actorrun::detail;

TEST_CASE("disk: what has no blocks, or is not there, is not full",
          "[runtime]") {
  CHECK_FALSE(is_on_full_disk("/proc/self/stat"));
  CHECK_FALSE(is_on_full_disk("/no/such/file"));
}

TEST_CASE("disk: one that can be written to is not full", "[runtime]") {
  CHECK_FALSE(is_on_full_disk("/dev/shm"));
}

} // namespace actorrun::test::disk_test
