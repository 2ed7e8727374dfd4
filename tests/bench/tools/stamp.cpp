// A worker that only stamps its start: `stamp`. It sleeps until a signal or the
// end of its parent ends it.

#include "tests/bench/tools/stamp.hpp"

#include <csignal>
#include <cstdlib>
#include <ctime>

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace {

constexpr int64_t nanoseconds_per_second = 1'000'000'000;

uint64_t number(const char* name, uint64_t otherwise) {
  const auto* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

} // namespace

int main() {
  using namespace actorrun::bench;
  auto now = timespec{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const auto* path = std::getenv(stamp_file_variable);
  const auto file = path == nullptr ? -1 : ::open(path, O_WRONLY | O_APPEND);
  if (file < 0)
    return EXIT_FAILURE;
  const auto record
    = stamp_record{.time = now.tv_sec * nanoseconds_per_second + now.tv_nsec,
                   .generation = number("ACTORRUN_GENERATION", 0),
                   .pid = ::getpid(),
                   .local_rank = int32_t(number("LOCAL_RANK", uint64_t(-1))),
                   .world_size = int32_t(number("WORLD_SIZE", 0))};
  if (::write(file, &record, sizeof record) != sizeof record)
    return EXIT_FAILURE;
  ::close(file);
  for (;;)
    ::pause();
}
