// Lists what a worker group is notified of, and what it orders.
#pragma once

#include "actors/core/failure.hpp"
#include "actors/core/generation.hpp"
#include "actors/core/safe_point.hpp"
#include "actors/core/time.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace actorrun::core {

// -- events: what has happened ------------------------------------------------

struct start_ordered {};

/// What `prepare_workers` asked for is there.
struct workers_prepared {};

struct worker_started {
  uint32_t local_rank = 0;
  int64_t pid = 0;
};

struct worker_not_started {
  uint32_t local_rank = 0;
  int error = 0; ///< errno; ECANCELED: the start was called off.
  death_details details{};
  time_point when{}; ///< When that was noticed; 0: now.
};

struct worker_exited {
  uint32_t local_rank = 0;
  int exit_code = 0;
  int signal = 0; ///< The signal that killed it; 0: it exited by itself.
  bool dumped = false;
  death_details details{};
  time_point when{}; ///< When the end was noticed; 0: now.
  /// When it had failed, as its error file says; 0: that says nothing.
  time_point failed{};
  /// It had begun to end before it was sent a signal that is to end it.
  bool was_ending = false;
  bool is_foreign = false; ///< It died of a signal that it was not sent by us.
  uint64_t memory = 0;     ///< The most that it has used, in bytes.
};

/// It has connected: it can live through a change.
struct worker_greeted {
  uint32_t local_rank = 0;
};

/// Nothing of it belongs to the group's generation any more.
struct worker_parked {
  uint32_t local_rank = 0;
};

/// The fence leaves it alone from now on, and has not killed it before.
struct worker_spared {
  uint32_t local_rank = 0;
};

/// Its connection is closed.
struct worker_hung_up {
  uint32_t local_rank = 0;
};

/// It has gone past a safe point.
struct worker_stepped {
  uint32_t local_rank = 0;
  uint64_t step = 0;
};

/// As it was ordered, it goes past no further one.
struct worker_held {
  uint32_t local_rank = 0;
  uint64_t step = 0; ///< The first that it can still stop at.
};

/// It waits where it was to stop.
struct worker_reached {
  uint32_t local_rank = 0;
  uint64_t step = 0;
};

/// Only the first order has an effect, but for one that lets nothing park after
/// one that did. A grace period of 0 kills at once.
struct stop_ordered {
  int signal = 0;
  std::chrono::milliseconds grace{0};
  bool may_park = false; ///< Live workers need not end. Not with a grace of 0.
};

/// Kill at once, which also ends a grace period.
struct kill_ordered {
  bool with_parked = false;
};

/// A worker, or a process that it has started, did not release a timer in time.
/// Only the first overrun of a worker has an effect.
struct worker_overran {
  uint32_t local_rank = 0;
  std::string scope{};
  duration lateness{0};
  std::optional<duration> limit{}; ///< How long the timer was to run, if known.
  int signal = 0;                  ///< Ends the worker.
  std::chrono::milliseconds grace{0}; ///< From there to SIGKILL; 0: at once.
  /// Longest wait for `worker_probed` before a signal is sent; 0: workers cannot
  /// be probed.
  std::chrono::milliseconds timeout{0};
  /// Where the workers of the job were, if that is known already; then what the
  /// probe finds is not used.
  std::string where{};
};

/// Where an overdue worker and its peers were.
struct worker_probed {
  uint32_t local_rank = 0;
  std::string where{};
};

using worker_group_event
  = std::variant<start_ordered, workers_prepared, worker_started,
                 worker_not_started, worker_exited, worker_greeted,
                 worker_parked, worker_spared, worker_hung_up, worker_stepped,
                 worker_held, worker_reached, safe_point_order, stop_ordered,
                 kill_ordered, timer_fired, worker_overran, worker_probed>;

// -- effects: what the owner must do, in order --------------------------------

/// Make what the workers need: folders, a store.
struct prepare_workers {};

/// Start all workers that wait.
struct start_workers {};

/// A worker could not be started for lack of processes, descriptors or memory. It
/// is tried again after the pause.
struct report_shortage {
  uint32_t local_rank = 0;
  int error = 0; ///< errno
  std::string subject{};
  duration left{0}; ///< Until that is a failure.
};

/// Hand these workers, which are parked, the plan. Those that may not begin any
/// more because of the fence are to be killed.
struct resume_workers {
  std::vector<uint32_t> local_ranks;
};

/// Tell these workers that their generation is over.
struct ask_to_park {
  std::vector<uint32_t> local_ranks;
  std::chrono::milliseconds grace{0}; ///< Then they are killed.
};

/// Start these as workers that have no generation yet.
struct start_spares {
  std::vector<uint32_t> numbers; ///< From the slot count on.
};

/// Tell these workers how far they may go.
struct order_steps {
  std::vector<uint32_t> local_ranks;
  safe_point_order order;
};

/// The fence is to leave this worker alone: it belongs to no generation. Answered
/// with `worker_spared` unless the fence has fired: then its end follows.
struct park_worker {
  uint32_t local_rank = 0;
};

/// Send a signal to every worker and the processes that it has started, and call
/// off starts.
struct signal_workers {
  int signal = 0;
  std::vector<uint32_t> spared{}; ///< Local ranks, in order.
};

/// Find out where this overdue worker and its peers are.
struct probe_workers {
  uint32_t overdue = 0; ///< Local rank.
};

/// Send a signal to one worker and the processes that it has started.
struct signal_worker {
  uint32_t local_rank = 0;
  int signal = 0;
};

/// Every worker has ended or is parked: kill the processes that those which have
/// ended have left behind.
struct release_workers {};

struct report_started {};

struct report_failed {
  worker_failure failure; ///< Aged up to now.
};

struct report_succeeded {};

/// No worker runs any more, except for those that cannot be killed. Said again when
/// parked workers were stopped later.
struct report_stopped {
  /// Failures from before the order to stop that were not reported: after the
  /// first failure, or noticed only after the order. Aged up to now.
  collateral others{};
  /// Workers that SIGKILL has not ended. They were given up and are listed among
  /// the failures.
  uint32_t unkillable_count = 0;
  parked_share parked{};
  /// The highest at which a worker has passed a safe point; none: none has.
  std::optional<uint64_t> step{};
};

/// Fewer workers are parked.
struct report_parked {
  parked_share parked;
};

struct report_safe_point {
  safe_point_report report;
};

using worker_group_effect
  = std::variant<arm_timer, prepare_workers, start_workers, start_spares,
                 resume_workers, ask_to_park, order_steps, park_worker,
                 signal_workers, release_workers, report_shortage,
                 report_started, report_failed, report_succeeded,
                 report_stopped, report_parked, report_safe_point,
                 probe_workers, signal_worker>;

/// One line per effect: `signal_workers 15`.
std::string to_string(const worker_group_effect& x);

} // namespace actorrun::core
