#include "actors/core/timers/clock.hpp"

#include <algorithm>

namespace actorrun::core {

time_point timer_clock::due(duration expiration, duration offset,
                            time_point now) {
  const auto moved = saturating_minus(offset, offset_.value_or(offset));
  if (moved > clock_step_min || moved < -clock_step_min) {
    former_ = *offset_;
    settled_at_ = saturating_plus(now, clock_settle);
  }
  offset_ = offset;
  const auto lowest = now < settled_at_ ? std::min(offset, former_) : offset;
  return time_point{saturating_minus(expiration, lowest)};
}

duration saturating_minus(duration a, duration b) {
  auto count = int64_t{0};
  if (!__builtin_sub_overflow(a.count(), b.count(), &count))
    return duration{count};
  return b < duration::zero() ? duration::max() : duration::min();
}

time_point saturating_plus(time_point at, duration length) {
  auto count = int64_t{0};
  if (!__builtin_add_overflow(at.time_since_epoch().count(), length.count(),
                              &count))
    return time_point{duration{count}};
  return length < duration::zero() ? time_point::min() : time_point::max();
}

} // namespace actorrun::core
