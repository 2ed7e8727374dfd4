// The workers of one epoch on one node, from the first start to the last end.
#pragma once

#include "actors/core/epoch.hpp"
#include "actors/core/time.hpp"

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace actorrun::core {

// -- events: what has happened ------------------------------------------------

struct start_ordered {};

struct worker_started {
  uint32_t local_rank = 0;
  int64_t pid = 0;
};

struct worker_not_started {
  uint32_t local_rank = 0;
  int error = 0; ///< errno; ECANCELED: a start of ours that we called off.
  death_details details{};
  time_point when{}; ///< When that was seen; 0: now.
};

struct worker_exited {
  uint32_t local_rank = 0;
  int exit_code = 0;
  int signal = 0; ///< What killed it; 0 when it exited by itself.
  bool dumped = false;
  death_details details{};
  time_point when{}; ///< When the end was seen; 0: now.
};

/// The first order counts; a grace period of 0 kills at once.
struct stop_ordered {
  int signal = 0;
  std::chrono::milliseconds grace{0};
};

/// No grace, or no more.
struct kill_ordered {};

/// A worker, or what it has started, did not release a timer in time. The first
/// of a worker counts.
struct worker_overran {
  uint32_t local_rank = 0;
  std::string scope{};
  duration lateness{0};
  int signal = 0;                     ///< To be ended with.
  std::chrono::milliseconds grace{0}; ///< From that to SIGKILL; 0: at once.
  /// Longest wait for a `worker_probed` before anything is sent; 0: nobody can
  /// look.
  std::chrono::milliseconds timeout{0};
};

/// What could be seen of an overdue worker and its peers.
struct worker_probed {
  uint32_t local_rank = 0;
  std::string where{};
};

using worker_group_event
  = std::variant<start_ordered, worker_started, worker_not_started,
                 worker_exited, stop_ordered, kill_ordered, timer_fired,
                 worker_overran, worker_probed>;

// -- effects: what the owner must do, in order --------------------------------

/// Start all workers.
struct start_workers {};

/// Send a signal to every worker and what it has started.
struct signal_workers {
  int signal = 0;
};

/// Look where this overdue worker and its peers are.
struct probe_workers {
  uint32_t overdue = 0; ///< Local rank.
};

/// Send a signal to one worker and what it has started.
struct signal_worker {
  uint32_t local_rank = 0;
  int signal = 0;
};

/// Every worker has ended: kill what they have left behind.
struct release_workers {};

struct report_started {};

struct report_failed {
  worker_failure failure; ///< Aged up to now.
};

struct report_succeeded {};

/// Nothing runs any more that can be killed.
struct report_stopped {
  /// What failed before our order to stop and was not reported: after the first
  /// failure, or so shortly before the order that we learned of it later. Aged
  /// up to now.
  collateral others{};
  /// Workers that SIGKILL has not ended: they were given up, and listed among
  /// the failures.
  uint32_t unkillable_count = 0;
};

using worker_group_effect
  = std::variant<arm_timer, start_workers, signal_workers, release_workers,
                 report_started, report_failed, report_succeeded,
                 report_stopped, probe_workers, signal_worker>;

/// One line per effect: `signal_workers 15`.
std::string to_string(const worker_group_effect& x);

// -- state --------------------------------------------------------------------

/// One worker, as it can be seen from outside.
struct worker_record {
  /// `given_up`: SIGKILL has not ended it, and nobody waits for it any more.
  enum class state : uint8_t { waiting, running, ended, given_up };
  state now = state::waiting;
  int64_t pid = 0; ///< 0 until it has been started.
};

///                 all started            all exited with 0
///  idle -> starting --------> running ---------------------> succeeded
///             |                  |
///             +--- one failed ---+--> failed
///             |                  |      |
///             +----- stop order -+------+--> stopping -> stopped
///
/// What ends after a stop order has been ended by us and is no failure. What
/// ended before it and is seen later is one, though it is reported last. So is
/// a worker that was signalled before it because of its timer, and one that
/// SIGKILL does not end in time: it counts as ended, for it will never run an
/// instruction of its own again.
class worker_group {
public:
  enum class phase {
    idle,
    starting,
    running,
    succeeded,
    failed,
    stopping,
    stopped,
  };

  /// @param host  Named in failures.
  /// @param kill_timeout  From SIGKILL to giving a worker up; 0: never.
  /// @pre the placement has at least one slot
  worker_group(epoch_plan plan, std::string host,
               std::chrono::milliseconds kill_timeout
               = std::chrono::milliseconds{0});

  /// Applies one event and returns its effects. Deterministic.
  std::vector<worker_group_effect> step(const worker_group_event& event,
                                        time_point now);

  phase current_phase() const { return phase_; }
  const epoch_plan& plan() const { return plan_; }

  /// By local rank.
  const std::vector<worker_record>& workers() const { return workers_; }

  /// Whether a death seen at `when` would be called our doing; 0: one now.
  bool has_ordered(time_point when) const {
    return phase_ >= phase::stopping
           && (when == time_point{} || when >= stop_ordered_at_);
  }

  /// Whether anybody will be told more of one more failure than that it was.
  bool lists_more() const { return others_.listed.size() < other_failures_max; }

private:
  using effects = std::vector<worker_group_effect>;

  /// A worker that overran a timer, until it ends.
  struct overdue {
    worker_overran what;
    std::string where{};
    timer_id timer{}; ///< Of the next step; 0: there is none.
    bool is_signalled = false;
    bool is_asked = false; ///< By a signal that it can handle.
    bool is_killed = false;
    time_point signalled_at{};
  };

  void on(const start_ordered& event, time_point now, effects& out);
  void on(const worker_started& event, time_point now, effects& out);
  void on(const worker_not_started& event, time_point now, effects& out);
  void on(const worker_exited& event, time_point now, effects& out);
  void on(const stop_ordered& event, time_point now, effects& out);
  void on(const kill_ordered& event, time_point now, effects& out);
  void on(const timer_fired& event, time_point now, effects& out);
  void on(const worker_overran& event, time_point now, effects& out);
  void on(const worker_probed& event, time_point now, effects& out);
  void end_overdue(overdue& x, time_point now, effects& out);
  timer_id arm(time_point due, effects& out);
  void advance_overdue(overdue& x, time_point now, effects& out);
  const overdue* find_ended_overdue(const worker_exited& event) const;
  void fail_overdue(const overdue& how, const worker_exited& event,
                    time_point now, effects& out);
  void kill_all(time_point now, effects& out);
  void give_up_all(time_point now, effects& out);
  void give_up(uint32_t local_rank, time_point now, effects& out);
  worker_record* in_state(uint32_t local_rank, worker_record::state state);
  void fail(worker_failure failure, time_point when, time_point now,
            effects& out);
  void tell(worker_failure failure, time_point when, time_point now,
            effects& out);
  void settle(time_point now, effects& out);

  epoch_plan plan_;
  std::string host_;
  std::chrono::milliseconds kill_timeout_;
  phase phase_ = phase::idle;
  std::vector<worker_record> workers_;
  uint32_t waiting_count_;
  uint32_t ended_count_ = 0;
  timer_id last_timer_;
  timer_id grace_timer_; ///< Set while the grace period lasts.
  timer_id kill_timer_;  ///< Set when all have been killed.
  uint32_t given_up_count_ = 0;
  std::map<uint32_t, overdue> overdue_; ///< By local rank.
  time_point stop_ordered_at_{};
  collateral others_; ///< As told at `others_told_at_`.
  time_point others_told_at_{};
};

} // namespace actorrun::core
