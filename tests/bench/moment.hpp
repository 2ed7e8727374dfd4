// The benchmark's clock: the same that workers stamp with.
#pragma once

#include "messages/result.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>

namespace actorrun::bench {

using clock = std::chrono::steady_clock;

/// Longest wait for anything that ought to take less than a second; a machine
/// that is busy with other things is not an error.
inline constexpr auto timeout = std::chrono::seconds{20};

inline clock::time_point deadline() {
  return clock::now() + timeout;
}

/// Before each measurement: what the one before has left to do, and those it is
/// compared with, shall not disturb it.
inline void settle() {
  std::this_thread::sleep_for(std::chrono::milliseconds{50});
}

/// Nanoseconds of CLOCK_MONOTONIC, which is what libstdc++'s steady clock reads.
inline int64_t stamp_now() {
  return std::chrono::nanoseconds{clock::now().time_since_epoch()}.count();
}

inline double milliseconds_between(int64_t from, int64_t to) {
  return double(to - from) / 1e6;
}

/// Why something could not be measured.
inline failure unmeasured(std::string text) {
  return {errc::system_failure, std::move(text)};
}

} // namespace actorrun::bench
