// A worker that lives through changes, and stamps each generation that it begins.

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
  for (auto& generation : actorrun::worker::generations()) {
    auto now = timespec{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    const auto record
      = stamp_record{.time = now.tv_sec * nanoseconds_per_second + now.tv_nsec,
                     .generation = generation.number(),
                     .pid = ::getpid(),
                     .local_rank = int32_t(generation.local_rank()),
                     .world_size = int32_t(generation.world_size())};
    if (::write(file, &record, sizeof record) != sizeof record)
      return EXIT_FAILURE;
    while (!generation.wait_over(std::chrono::hours{1})) {
    }
  }
  return EXIT_SUCCESS;
}
