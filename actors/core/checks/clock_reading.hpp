// Decides whether a node's clock can be trusted.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace actorrun::core {

/// What the kernel says of its clock.
struct clock_reading {
  bool is_synchronised = false; ///< A service keeps it in step (NTP, PTP).
  std::chrono::microseconds error{0};     ///< As that service estimates it.
  std::chrono::microseconds error_max{0}; ///< At the most; grows without news.
  int64_t unix_seconds = 0;
};

/// A clock that is estimated to be further off than this is no clock to order the
/// events of several nodes by. NTP keeps within milliseconds.
inline constexpr auto clock_error_max = std::chrono::milliseconds{100};

/// No clock that is right shows less: 2025-01-01.
inline constexpr auto clock_unix_min = int64_t{1'735'689'600};

/// What is wrong with the clock, in one line; empty: nothing.
std::string fault_of(const clock_reading& x);

/// `in step, off by 0.4 ms as is estimated, by 12.0 ms at the most`
std::string to_string(const clock_reading& x);

} // namespace actorrun::core
