// Owns the ids of the timers that a state machine has armed.
#pragma once

#include "actors/core/time.hpp"

#include <array>
#include <cstddef>
#include <optional>
#include <utility>

namespace actorrun::core {

/// Maps alarms, of which each can be armed once at a time, to timers. Timers
/// are never cancelled: a timer that was disarmed or armed again is abandoned,
/// and `take` ignores it.
///
/// @tparam Alarm An enumeration with the values 0..`count - 1`.
template <class Alarm, size_t count>
class alarm_set {
public:
  struct fired {
    Alarm which;
    time_point due;
  };

  /// Arms an alarm, which abandons its earlier timer if it has one.
  /// @returns the order for the new timer
  [[nodiscard]] arm_timer arm(Alarm which, time_point due) {
    ++last_timer_.value;
    return entries_[size_t(which)] = arm_timer{last_timer_, due};
  }

  void disarm(Alarm which) { entries_[size_t(which)] = {}; }

  bool is_armed(Alarm which) const {
    return entries_[size_t(which)].timer.value != 0;
  }

  /// When an alarm is due; none: it is not armed.
  std::optional<time_point> due(Alarm which) const {
    return is_armed(which) ? std::optional{entries_[size_t(which)].due}
                           : std::nullopt;
  }

  /// A timer beside the alarms, which its owner knows by its id.
  [[nodiscard]] arm_timer arm_further(time_point due) {
    ++last_timer_.value;
    return {last_timer_, due};
  }

  /// Finds the alarm of a timer.
  /// @returns none if the timer is abandoned or unknown
  std::optional<Alarm> find(timer_id timer) const {
    for (size_t i = 0; i < count && timer.value != 0; ++i)
      if (entries_[i].timer == timer)
        return Alarm(i);
    return std::nullopt;
  }

  /// The same for one that has fired, and disarms its alarm.
  std::optional<fired> take(timer_id timer) {
    const auto which = find(timer);
    if (!which)
      return std::nullopt;
    return fired{*which, std::exchange(entries_[size_t(*which)], {}).due};
  }

private:
  std::array<arm_timer, count> entries_{}; ///< Timer 0: not armed.
  timer_id last_timer_;
};

} // namespace actorrun::core
