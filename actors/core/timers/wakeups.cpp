#include "actors/core/timers/wakeups.hpp"

#include <algorithm>

namespace actorrun::core {

namespace {

constexpr size_t exact_max = 8;

} // namespace

std::optional<arm_timer> timer_wakeups::want(time_point due, time_point now) {
  due = std::clamp(due, now + wakeup_delay_min, now + wakeup_delay_max);
  if (!ordered_.empty() && ordered_.back().due <= due)
    return std::nullopt;
  if (ordered_.size() >= exact_max)
    due = now + std::max<duration>((due - now) / 2, wakeup_delay_min);
  ++last_.value;
  return ordered_.emplace_back(arm_timer{last_, due});
}

void timer_wakeups::fired(timer_id timer) {
  std::erase_if(ordered_, [&](const auto& x) { return x.timer == timer; });
}

} // namespace actorrun::core
