// The virtual clock and the queue of pending actions.
#pragma once

#include "actors/core/time.hpp"

#include <functional>
#include <vector>

namespace actorrun::sim {

using action = std::function<void()>;

/// Runs actions by their time, equal times in the order of scheduling. The
/// clock stands still while an action runs.
class event_queue {
public:
  /// @param tick All times are whole multiples of it; 0: they are not rounded.
  explicit event_queue(core::duration tick = {}) : tick_(tick) {}

  core::time_point now() const { return now_; }

  /// The last tick up to `x` …
  core::time_point floor(core::time_point x) const {
    return tick_.count() == 0 ? x : x - x.time_since_epoch() % tick_;
  }
  /// … and the first from `x` on.
  core::time_point ceil(core::time_point x) const {
    return tick_.count() == 0 ? x : floor(x + tick_ - core::duration{1});
  }

  /// An action that is due in the past runs now.
  void at(core::time_point due, action what);

  void after(core::duration delay, action what) {
    at(now_ + delay, std::move(what));
  }

  /// Runs the next action; false if none is due by `limit`.
  bool step(core::time_point limit);

  /// Actions run so far.
  uint64_t step_count() const { return step_count_; }

private:
  struct entry {
    core::time_point due;
    uint64_t sequence;
    action what;
  };

  static bool later(const entry& a, const entry& b) {
    return a.due != b.due ? a.due > b.due : a.sequence > b.sequence;
  }

  core::duration tick_;
  core::time_point now_{};
  uint64_t sequence_ = 0;
  uint64_t step_count_ = 0;
  std::vector<entry> heap_;
};

} // namespace actorrun::sim
