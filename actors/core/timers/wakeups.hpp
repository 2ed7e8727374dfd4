// Decides whether another wake-up must be ordered.
#pragma once

#include "actors/core/time.hpp"

#include <optional>
#include <vector>

namespace actorrun::core {

/// No wake-up is ordered for a moment nearer than this: what is due earlier
/// waits for it. This is how late a timer may be.
inline constexpr auto wakeup_delay_min = std::chrono::microseconds{100};

/// None is ordered further ahead: no deadline, however far, is a special case.
inline constexpr auto wakeup_delay_max = std::chrono::hours{24};

/// A wake-up cannot be cancelled and costs memory until it comes. So one is
/// ordered only if none comes in time already; deadlines that move later, as
/// those of a worker that makes progress do, order nothing.
///
/// Deadlines that move nearer and nearer, each of which needs one, could pile
/// them up. From the ninth on, one is ordered for half the time that is left:
/// it comes too early and is asked for again, but there are at most 60 more.
class timer_wakeups {
public:
  /// @param due When something must be looked at; may be over.
  /// @returns what to order; none if that is ordered already
  std::optional<arm_timer> want(time_point due, time_point now);

  /// A wake-up has come; one that is not known is ignored.
  void fired(timer_id timer);

  /// Wake-ups on their way.
  size_t size() const { return ordered_.size(); }

private:
  std::vector<arm_timer> ordered_; ///< Each one earlier than the one before.
  timer_id last_;
};

} // namespace actorrun::core
