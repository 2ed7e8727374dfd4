// A worker that lives through changes, and stamps each epoch that it begins.

#include "runtime/worker/live.hpp"
#include "tests/bench/tools/stamp.hpp"

#include <chrono>
#include <cstdlib>
#include <ctime>

#include <fcntl.h>
#include <unistd.h>

int main() {
  using namespace actorrun::bench;
  constexpr int64_t nanoseconds_per_second = 1'000'000'000;
  const auto* path = std::getenv(stamp_file_variable);
  const auto file
    = path == nullptr ? -1 : ::open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file < 0)
    return EXIT_FAILURE;
  for (auto& epoch : actorrun::worker::epochs()) {
    auto now = timespec{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    const auto record
      = stamp_record{.time = now.tv_sec * nanoseconds_per_second + now.tv_nsec,
                     .epoch = epoch.number(),
                     .pid = ::getpid(),
                     .local_rank = int32_t(epoch.local_rank()),
                     .world_size = int32_t(epoch.world_size())};
    if (::write(file, &record, sizeof record) != sizeof record)
      return EXIT_FAILURE;
    while (!epoch.wait_over(std::chrono::hours{1})) {
    }
  }
  return EXIT_SUCCESS;
}
