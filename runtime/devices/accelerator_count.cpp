#include "messages/formatted.hpp"
#include "runtime/devices.hpp"
#include "runtime/os/resource_limits.hpp"
#include "runtime/os/shared_library.hpp"
#include "runtime/os/unique_fd.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace actorrun {

using namespace detail;

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// Drivers of Level Zero and devices of each; a loop that trusts them must end.
constexpr uint32_t ze_drivers_max = 64;

/// What the child says: a number, or in a text why there is none.
struct answer {
  uint32_t count = 0;
  std::array<char, 512> why{};
};

answer refusal(const std::string& text) {
  auto out = answer{};
  text.copy(out.why.data(), out.why.size() - 1);
  return out;
}

std::string name_from(const char* variable, const char* otherwise) {
  const auto* name = std::getenv(variable);
  return name != nullptr && *name != '\0' ? name : otherwise;
}

// -- in the child -------------------------------------------------------------

answer ask_cuda() {
  const auto library
    = shared_library::load(name_from("ACTORRUN_CUDA_LIBRARY", "libcuda.so.1"));
  if (!library)
    return refusal(library.error().text);
  int (*init)(unsigned) = nullptr;
  int (*count)(int*) = nullptr;
  if (!library->find("cuInit", init)
      || !library->find("cuDeviceGetCount", count))
    return refusal("the CUDA driver's library lacks cuInit");
  if (const auto code = init(0); code != 0)
    return refusal(formatted("cuInit fails with CUDA's error {}", code));
  auto number = 0;
  if (const auto code = count(&number); code != 0)
    return refusal(
      formatted("cuDeviceGetCount fails with CUDA's error {}", code));
  return {.count = static_cast<uint32_t>(std::max(number, 0))};
}

answer ask_level_zero() {
  constexpr uint32_t gpus_only = 1;
  const auto library = shared_library::load(
    name_from("ACTORRUN_ZE_LIBRARY", "libze_loader.so.1"));
  if (!library)
    return refusal(library.error().text);
  int (*init)(uint32_t) = nullptr;
  int (*drivers)(uint32_t*, void**) = nullptr;
  int (*devices)(void*, uint32_t*, void**) = nullptr;
  if (!library->find("zeInit", init) || !library->find("zeDriverGet", drivers)
      || !library->find("zeDeviceGet", devices))
    return refusal("the Level Zero loader lacks zeInit");
  if (const auto code = init(gpus_only); code != 0)
    return refusal(formatted("zeInit fails with Level Zero's error {}", code));
  auto found = std::array<void*, ze_drivers_max>{};
  auto driver_count = ze_drivers_max;
  if (drivers(&driver_count, found.data()) != 0)
    return refusal("zeDriverGet fails");
  auto out = answer{};
  for (uint32_t i = 0; i < std::min(driver_count, ze_drivers_max); ++i) {
    auto device_count = uint32_t{0};
    if (devices(found[i], &device_count, nullptr) == 0)
      out.count += device_count;
  }
  return out;
}

[[noreturn]] void be_child(answer (*ask)(), int to) {
  const auto said = ask();
  const auto size = ::write(to, &said, sizeof said);
  ::_exit(size == sizeof said ? 0 : 1);
}

// -- around it ----------------------------------------------------------------

/// Waits for the whole answer; its size is below what a pipe takes in one go.
bool await(int from, answer& out, milliseconds timeout) {
  const auto deadline = steady_clock::now() + timeout;
  for (;;) {
    const auto left
      = std::chrono::ceil<milliseconds>(deadline - steady_clock::now());
    auto fd = pollfd{.fd = from, .events = POLLIN, .revents = 0};
    const auto count
      = ::poll(&fd, 1, static_cast<int>(std::max<int64_t>(left.count(), 0)));
    if (count < 0 && errno == EINTR)
      continue;
    return count > 0 && ::read(from, &out, sizeof out) == sizeof out;
  }
}

void reap(pid_t child) {
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
}

result<uint32_t> count_in_child(answer (*ask)(), milliseconds timeout) {
  auto ends = std::array<int, 2>{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    return system_failure("pipe2: " + system_error_text(errno));
  const auto from = unique_fd{ends[0]};
  auto to = unique_fd{ends[1]};
  const auto child = ::fork();
  if (child < 0)
    return system_failure("fork: " + start_error_text(errno));
  if (child == 0)
    be_child(ask, to.get());
  to.reset();
  auto said = answer{};
  const auto has_answered = await(from.get(), said, timeout);
  ::kill(child, SIGKILL); // It may hang in the driver's exit handlers.
  reap(child);
  if (!has_answered)
    return system_failure("the driver crashes or does not answer");
  if (said.why[0] != '\0')
    return system_failure(said.why.data());
  if (said.count == 0)
    return system_failure("the driver has no device");
  return said.count;
}

} // namespace

result<uint32_t> count_cuda_devices(milliseconds timeout) {
  return count_in_child(ask_cuda, timeout);
}

result<uint32_t> count_xpu_devices(milliseconds timeout) {
  return count_in_child(ask_level_zero, timeout);
}

} // namespace actorrun
