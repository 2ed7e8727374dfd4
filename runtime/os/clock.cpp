#include "runtime/os/clock.hpp"

#include <algorithm>
#include <atomic>
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

// In this order a reading is never more than the truth: only less, by the time
// that the system takes from us between the two. So the highest one counts.
core::duration time_asleep() noexcept {
  static auto highest = std::atomic<int64_t>{0};
  const auto booted = time_of(CLOCK_BOOTTIME);
  const auto seen = booted - time_of(CLOCK_MONOTONIC);
  auto known = highest.load();
  while (seen > known && !highest.compare_exchange_weak(known, seen)) {
  }
  return core::duration{std::max(seen, known)};
}

} // namespace actorrun::detail
