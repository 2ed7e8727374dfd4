#include "actors/core/vitals/cpu_meter.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace actorrun::core {

bool cpu_meter::has_base(time_point now) const {
  return now_.when && now - *now_.when <= base_age_max;
}

void cpu_meter::begin(time_point now) {
  last_ = std::exchange(now_, {.when = now});
}

std::optional<uint32_t> cpu_meter::note(const cpu_reading& x) {
  now_.readings[x.pid] = x;
  auto used = x.ticks;
  auto elapsed = x.age;
  const auto before = last_.readings.find(x.pid);
  if (before != last_.readings.end() && before->second.birth == x.birth) {
    if (x.ticks < before->second.ticks)
      return std::nullopt;
    used -= before->second.ticks;
    elapsed = *now_.when - *last_.when;
  }
  if (elapsed <= duration{0})
    return std::nullopt;
  const auto seconds = std::chrono::duration<double>(elapsed).count();
  const auto percent
    = 100.0 * double(used) / double(ticks_per_second_) / seconds;
  constexpr auto max = double(std::numeric_limits<uint32_t>::max());
  return static_cast<uint32_t>(std::min(percent + 0.5, max));
}

} // namespace actorrun::core
