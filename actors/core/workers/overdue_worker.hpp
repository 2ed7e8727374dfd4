// Ends one worker that has overrun a timer: first with the signal that was
// asked for, then with SIGKILL.
#pragma once

#include "actors/core/time.hpp"
#include "actors/core/workers/worker_group_events.hpp"

#include <chrono>
#include <string>
#include <utility>

namespace actorrun::core {

/// A worker from its overrun to its end.
///
///  overrun -> probed -> signalled -> killed -> given up by its group
///     +- cannot be probed -^  +- no grace -^
///
/// Its owner keeps one timer for it, the one of the next step.
class overdue_worker {
public:
  /// A signal to send, and how long to wait for its effect; 0: forever.
  struct order {
    int signal = 0;
    duration timeout{0};
  };

  /// @param kill_timeout From SIGKILL to giving up the worker; 0: never.
  overdue_worker(worker_overran overrun,
                 std::chrono::milliseconds kill_timeout);

  /// Longest wait for the result of the probe; 0: it cannot be probed.
  duration probe_timeout() const { return overrun_.timeout; }

  void set_where(std::string x) { where_ = std::move(x); }

  /// Takes the next step against it.
  /// @pre `!is_killed()`
  order end(time_point now);

  bool is_signalled() const { return is_signalled_; }
  bool is_killed() const { return is_killed_; }

  /// Whether the worker ended because of its timer. What died before the signal
  /// did not die of it. SIGKILL has one effect; after a signal that can be
  /// handled, any end may be its effect, be it an exit with 0 or a crash.
  bool has_caused(const worker_exited& event) const;

  /// The failure of a worker that ended because of its timer.
  /// @pre `has_caused(event)`
  worker_failure failure_of(const worker_exited& event) const;

  /// Adds the timer, and where the worker was.
  void explain(death_details& out) const;

  timer_id timer; ///< Of the next step; 0: there is none.

private:
  worker_overran overrun_;
  std::chrono::milliseconds kill_timeout_;
  std::string where_;
  bool is_signalled_ = false;
  bool is_asked_ = false; ///< By a signal that it can handle.
  bool is_killed_ = false;
  time_point signalled_at_{}; ///< By the first signal.
};

} // namespace actorrun::core
