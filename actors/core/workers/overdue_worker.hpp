// Ends workers that have overrun a timer: first with the signal that was asked
// for, then with SIGKILL.
#pragma once

#include "actors/core/time.hpp"
#include "actors/core/workers/group_orders.hpp"
#include "actors/core/workers/worker_group_events.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace actorrun::core {

/// A worker from its overrun to its end.
///
///  overrun -> probed -> signalled -> killed -> given up by its group
///     +- cannot be probed -^  +- no grace -^
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

  void set_where(const std::string& x) {
    if (where_.empty())
      where_ = x;
  }

  /// Takes the next step against it.
  /// @pre `!is_killed()`
  order end(time_point now);

  bool is_signalled() const { return signalled_at_.has_value(); }
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
  bool is_asked_ = false; ///< By a signal that it can handle.
  bool is_killed_ = false;
  std::optional<time_point> signalled_at_; ///< By the first signal.
};

/// Those of a group.
class overdue_workers {
public:
  /// @param kill_timeout As for each of them.
  explicit overdue_workers(std::chrono::milliseconds kill_timeout)
    : kill_timeout_(kill_timeout) {}

  /// Only the first overrun of a worker counts.
  void add(const worker_overran& event, group_orders& orders);

  /// What is found after the signal may be an effect of the signal.
  void set_where(const worker_probed& event, group_orders& orders);

  /// Takes the next step, if this is a timer of one of them.
  /// @returns the worker, if SIGKILL has not ended it in time
  std::vector<uint32_t> on(const timer_fired& event, group_orders& orders);

  bool has_timer(timer_id x) const;

  /// The worker has ended.
  /// @returns none if it was not overdue
  std::optional<overdue_worker> take(uint32_t local_rank);

  /// Adds its timer, if the worker that has failed is overdue.
  void explain(worker_failure& out) const;

private:
  static void end(uint32_t local_rank, overdue_worker& x, group_orders& orders);

  std::chrono::milliseconds kill_timeout_;
  std::map<uint32_t, overdue_worker> workers_; ///< By local rank.
};

} // namespace actorrun::core
