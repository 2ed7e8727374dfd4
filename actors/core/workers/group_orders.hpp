// Collects what a worker group orders in a step, and owns its timers.
#pragma once

#include "actors/core/alarm_set.hpp"
#include "actors/core/time.hpp"
#include "actors/core/workers/worker_group_events.hpp"

#include <optional>
#include <utility>
#include <vector>

namespace actorrun::core {

/// The step that a group takes: what it orders, in order, and when that is.
class group_orders {
public:
  enum class alarm {
    start, ///< A worker does not run yet.
    retry, ///< The next attempt to start those that are delayed.
    hold,  ///< Failures are held back no longer. It is armed once.
    grace, ///< Armed while the grace period lasts.
    kill,  ///< Armed when all have been killed.
    spare, ///< Armed when spares have been killed, or wait in vain.
  };

  void begin_step(time_point now) { now_ = now; }
  time_point now() const { return now_; }

  void add(worker_group_effect x) { out_.push_back(std::move(x)); }

  void arm(alarm which, duration wait) {
    out_.emplace_back(alarms_.arm(which, now_ + wait));
  }

  /// @returns a timer beside the alarms
  timer_id arm_further(duration wait) {
    const auto order = alarms_.arm_further(now_ + wait);
    out_.emplace_back(order);
    return order.timer;
  }

  void disarm(alarm which) { alarms_.disarm(which); }
  bool is_armed(alarm which) const { return alarms_.is_armed(which); }

  /// None: the timer is another one, or abandoned.
  std::optional<alarm> find(timer_id x) const { return alarms_.find(x); }

  /// The same for one that has fired, which is armed no longer.
  std::optional<alarm> take(timer_id x) {
    const auto fired = alarms_.take(x);
    return fired ? std::optional{fired->which} : std::nullopt;
  }

  std::vector<worker_group_effect> end_step() {
    return std::exchange(out_, {});
  }

private:
  alarm_set<alarm, size_t(alarm::spare) + 1> alarms_;
  time_point now_{};
  std::vector<worker_group_effect> out_;
};

} // namespace actorrun::core
