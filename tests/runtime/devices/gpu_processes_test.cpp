#include "runtime/devices/gpu_inventory.hpp"
#include "tests/runtime/devices/gpu_fixture.hpp"

#include <cstdint>
#include <vector>

namespace actorrun::test::gpu_processes_test {

using namespace actorrun::detail;
using namespace actorrun::detail::gpu_test;

namespace {

std::vector<int64_t> processes_told_by(const char* library) {
  const auto opened = open_nvml(library);
  REQUIRE(opened);
  return gpu_processes(*opened);
}

} // namespace

TEST_CASE("nvml_library: processes are read from drivers old and new",
          "[gpu]") {
  const auto world = standin{};
  world.write("gpu uuid=GPU-a pids=7,3,9\n");
  const auto expected = std::vector<int64_t>{3, 7, 9};
  CHECK(processes_told_by(GPU_STANDIN) == expected);
  CHECK(processes_told_by(GPU_STANDIN_535) == expected);
}

TEST_CASE("nvml_library: a driver that fails gives its error", "[gpu]") {
  const auto world = standin{};
  world.write("init 9\n");
  const auto opened = open_nvml(GPU_STANDIN);
  REQUIRE_FALSE(opened);
  CHECK(opened.error().code == errc::system_failure);
  CHECK(opened.error().text
        == "the NVIDIA driver does not answer: Stand-in Error");
}

TEST_CASE("nvml_library: another library is refused", "[gpu]") {
  const auto missing = open_nvml("libactorrun-none.so");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().text.starts_with(
    "the NVIDIA driver's library cannot be loaded: libactorrun-none.so"));
  const auto other = open_nvml("libc.so.6");
  REQUIRE_FALSE(other);
  CHECK(other.error().text
        == "libc.so.6 is too old or no NVML; actorrun needs a driver from 450"
           " on");
}

} // namespace actorrun::test::gpu_processes_test
