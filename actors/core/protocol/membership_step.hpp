// Collects what one step of an agent's membership orders.
#pragma once

#include "actors/core/alarm_set.hpp"
#include "actors/core/protocol/membership_events.hpp"
#include "actors/core/time.hpp"

#include <optional>
#include <utility>
#include <vector>

namespace actorrun::core {

/// Shared by the regions of a membership, so that what they order stays in its
/// order.
class membership_step {
public:
  enum class alarm {
    retry,
    seek,
    timeout,
    keep_alive,
    fence,
    parting,
    drain,
    second_way,
  };

  void begin(time_point now) { now_ = now; }
  time_point now() const { return now_; }

  template <class Effect>
  void add(Effect x) {
    out_.emplace_back(std::move(x));
  }

  std::vector<membership_effect> take() { return std::exchange(out_, {}); }

  void arm(alarm which, time_point due) { add(alarms_.arm(which, due)); }
  void disarm(alarm which) { alarms_.disarm(which); }
  std::optional<time_point> due(alarm which) const {
    return alarms_.due(which);
  }
  auto take(timer_id timer) { return alarms_.take(timer); }

private:
  time_point now_{};
  std::vector<membership_effect> out_;
  alarm_set<alarm, size_t(alarm::second_way) + 1> alarms_;
};

} // namespace actorrun::core
