// Converts deadlines of the wall clock to monotonic time.
#pragma once

#include "actors/core/time.hpp"

#include <optional>

namespace actorrun::core {

/// A change of the wall clock beyond this is a step; less is how clocks are
/// kept right.
inline constexpr auto clock_step_min = std::chrono::milliseconds{5};

/// A line may have been written so long before it is read.
inline constexpr auto clock_settle = std::chrono::milliseconds{200};

/// Turns the wall clock's time in torch's lines into monotonic time, once, when
/// a line is read. So a step of the wall clock changes no timer that is armed.
///
/// A line that was written before a step and is read after it would be off by
/// the step: after one forward, a timer that has just begun would be over. For
/// `clock_settle` after a step both readings of the clock are tried and the
/// later deadline counts: some timer may be late by the step, none is early.
class timer_clock {
public:
  /// @param expiration Since 1970, not negative.
  /// @param offset     The wall clock minus the monotonic one, both read when
  ///                   the line was.
  /// @param now        Never decreases between calls.
  time_point due(duration expiration, duration offset, time_point now);

private:
  std::optional<duration> offset_;
  duration former_{0}; ///< The offset before the step.
  time_point settled_at_ = time_point::min();
};

/// `a - b`; what is out of range is the nearest that is not.
duration saturating_minus(duration a, duration b);

/// `at + length`, likewise.
time_point saturating_plus(time_point at, duration length);

} // namespace actorrun::core
