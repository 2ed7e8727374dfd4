#include "runtime/os/thread_times.hpp"

#include <charconv>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

namespace actorrun::detail {

namespace {

/// The second number of the kernel's Documentation/scheduler/sched-stats: how long the
/// thread waited in the run queue, in nanoseconds.
core::duration waited_in(std::string_view schedstat) {
  const auto blank = schedstat.find(' ');
  auto count = int64_t{0};
  if (blank != std::string_view::npos)
    std::from_chars(schedstat.data() + blank + 1,
                    schedstat.data() + schedstat.size(), count);
  return std::chrono::nanoseconds{count};
}

} // namespace

thread_times::thread_times()
  : schedstat_(::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)) {}

core::processor_time thread_times::now() const {
  auto ran = timespec{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ran);
  char text[80];
  const auto size = ::pread(schedstat_.get(), text, sizeof text, 0);
  return {.ran = std::chrono::seconds{ran.tv_sec}
                 + std::chrono::nanoseconds{ran.tv_nsec},
          .waited
          = size > 0 ? waited_in({text, size_t(size)}) : core::duration{}};
}

} // namespace actorrun::detail
