// Collects what one step of a state machine orders.
#pragma once

#include "actors/core/alarm_set.hpp"
#include "actors/core/time.hpp"

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace actorrun::core {

/// Shared by the parts of a machine, so that what they order stays in its order.
///
/// @tparam Effect A variant that has `arm_timer` as an alternative.
/// @tparam Alarm An enumeration with the values 0..`count - 1`.
template <class Effect, class Alarm, size_t count>
class machine_step {
public:
  using alarm = Alarm;

  void begin(time_point now) { now_ = now; }
  time_point now() const { return now_; }

  template <class T>
  void add(T x) {
    out_.emplace_back(std::move(x));
  }

  std::vector<Effect> take() { return std::exchange(out_, {}); }

  void arm(alarm which, time_point due) { add(alarms_.arm(which, due)); }
  void disarm(alarm which) { alarms_.disarm(which); }
  void disarm_all_but(alarm which) {
    for (size_t i = 0; i < count; ++i)
      if (alarm(i) != which)
        alarms_.disarm(alarm(i));
  }
  bool is_armed(alarm which) const { return alarms_.is_armed(which); }
  std::optional<time_point> due(alarm which) const {
    return alarms_.due(which);
  }
  auto take(timer_id timer) { return alarms_.take(timer); }

private:
  time_point now_{};
  std::vector<Effect> out_;
  alarm_set<alarm, count> alarms_;
};

} // namespace actorrun::core
