#include "runtime/devices.hpp"
#include "tests/runtime/devices/gpu_fixture.hpp"

#include <cerrno>
#include <chrono>
#include <fstream>
#include <string>

#include <sys/wait.h>

namespace actorrun::test::accelerator_count_test {

using namespace actorrun::detail;
using namespace actorrun::detail::gpu_test;

namespace {

/// Whether this program has loaded that library.
bool has_loaded(const std::string& name) {
  auto maps = std::ifstream{"/proc/self/maps"};
  for (auto line = std::string{}; std::getline(maps, line);)
    if (line.find(name) != std::string::npos)
      return true;
  return false;
}

} // namespace

TEST_CASE("accelerator_count: CUDA's driver is asked by another process",
          "[gpu]") {
  const auto world = standin{};
  world.write("cuda 3\n");
  ::setenv("ACTORRUN_CUDA_LIBRARY", GPU_STANDIN, 1);
  const auto count = count_cuda_devices();
  REQUIRE(count);
  CHECK(*count == 3);
  CHECK_FALSE(has_loaded("libcuda.so"));
  CHECK(::waitpid(-1, nullptr, WNOHANG) == -1); // No child is left.
  CHECK(errno == ECHILD);
}

TEST_CASE("accelerator_count: a failure has a reason", "[gpu]") {
  const auto world = standin{};
  world.write("cuda 0\n");
  CHECK(count_cuda_devices().error().text
        == "cuInit fails with CUDA's error 100");
  ::setenv("ACTORRUN_CUDA_LIBRARY", "libnone.so.1", 1);
  CHECK(count_cuda_devices().error().text.starts_with("libnone.so.1: "));
  ::setenv("ACTORRUN_CUDA_LIBRARY", "libc.so.6", 1);
  CHECK(count_cuda_devices().error().text
        == "the CUDA driver's library lacks cuInit");
  ::setenv("ACTORRUN_CUDA_LIBRARY", "", 1); // As if it were not set.
  ::setenv("ACTORRUN_ZE_LIBRARY", "libnone.so.1", 1);
  CHECK(count_xpu_devices().error().text.starts_with("libnone.so.1: "));
}

TEST_CASE("accelerator_count: Level Zero counts XPUs", "[gpu]") {
  const auto world = standin{};
  world.write("xpu 6\n");
  const auto count = count_xpu_devices();
  REQUIRE(count);
  CHECK(*count == 6);
  world.write("");
  CHECK(count_xpu_devices().error().code == errc::system_failure);
}

TEST_CASE("accelerator_count: a driver that hangs is given up", "[gpu]") {
  const auto world = standin{};
  world.write("cuda -1\n"); // The stand-in hangs then.
  const auto count = count_cuda_devices(std::chrono::milliseconds{50});
  REQUIRE_FALSE(count);
  CHECK(count.error().text == "the driver crashes or does not answer");
}

} // namespace actorrun::test::accelerator_count_test
