#include "runtime/os/clock.hpp"

#include <algorithm>
#include <cstdint>
#include <ctime>

namespace actorrun::detail {

namespace {

constexpr int64_t nanoseconds_per_second = 1'000'000'000;

int64_t time_of(clockid_t clock) noexcept {
  auto time = timespec{};
  ::clock_gettime(clock, &time);
  return time.tv_sec * nanoseconds_per_second + time.tv_nsec;
}

} // namespace

// Read in this order, the result is a little too small and never negative by
// more than the time between the two calls.
core::duration time_asleep() noexcept {
  const auto booted = time_of(CLOCK_BOOTTIME);
  const auto awake = time_of(CLOCK_MONOTONIC);
  return core::duration{std::max<int64_t>(booted - awake, 0)};
}

} // namespace actorrun::detail
