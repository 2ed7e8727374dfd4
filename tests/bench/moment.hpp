// The benchmark's clock: the same that workers use for stamps.
#pragma once

#include "messages/result.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>

namespace actorrun::bench {

using clock = std::chrono::steady_clock;

/// Longest wait for anything that should take less than a second; a busy
/// machine is no error.
inline constexpr auto timeout = std::chrono::seconds{20};

inline clock::time_point deadline() {
  return clock::now() + timeout;
}

/// Pauses before each measurement, so that the remaining work of the previous
/// one does not disturb it.
inline void settle() {
  std::this_thread::sleep_for(std::chrono::milliseconds{50});
}

/// Nanoseconds of CLOCK_MONOTONIC, as libstdc++'s steady clock reads it.
inline int64_t stamp_now() {
  return std::chrono::nanoseconds{clock::now().time_since_epoch()}.count();
}

inline double milliseconds_between(int64_t from, int64_t to) {
  return double(to - from) / 1e6;
}

/// The reason why a measurement failed.
inline failure unmeasured(std::string text) {
  return {errc::system_failure, std::move(text)};
}

} // namespace actorrun::bench
