// Lists the timer server's messages, and starts one.
#pragma once

#include "actors/core/time.hpp"
#include "actors/core/timers/lines.hpp"
#include "actors/log.hpp"
#include "actors/ports/timer_source.hpp"
#include "messages/caf.hpp"

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace actorrun {

/// A worker, or a process that it has started, did not release a timer in time.
struct worker_overrun {
  core::overrun what;
};

/// Receives the overruns of workers: a worker supervisor.
using overrun_listener_actor = interface<
  // Stop the worker: it has failed.
  void(worker_overrun)>;

/// A timer that an actor of this program has started was not released in time.
struct timer_overrun {
  std::string scope;
  core::duration lateness{0}; ///< From the deadline to now.
};

/// Receives the overruns of actors of this program.
using timer_client_actor = interface<
  // All timers of the actor have ended.
  void(timer_overrun)>;

struct timed_process {
  uint32_t local_rank = 0;
  int64_t pid = 0;
};

/// These workers have been started.
struct workers_timed {
  generation_id generation;
  std::vector<timed_process> workers;
  overrun_listener_actor listener; ///< Not kept alive by this.
};

/// These workers have ended, or have left the generation.
struct workers_untimed {
  generation_id generation;
  std::vector<timed_process> workers;
  bool live_on = false; ///< As live workers do, until the next `workers_timed`.
};

/// The sender starts a timer of its own, or gives it a new deadline.
struct acquire_timer {
  std::string scope;           ///< Names the timer; `core::scope_text_max`.
  core::duration after{0};     ///< From when this arrives.
  timer_client_actor listener; ///< Null: an overrun is only logged.
};

struct release_timer {
  std::string scope;
};

/// Starts a timer on behalf of a worker, or gives it a new deadline: for programs
/// that communicate with workers in their own way.
struct acquire_worker_timer {
  generation_id generation;
  uint32_t local_rank = 0;
  std::string scope;
  core::duration after{0}; ///< From when this arrives.
  int signal = SIGKILL;    ///< 0 or less: an overrun is only logged.
};

struct release_worker_timer {
  generation_id generation;
  uint32_t local_rank = 0;
  std::string scope;
};

struct timer_question {};

/// Counts what a timer server has done so far.
struct timer_figures {
  size_t timer_count = 0; ///< Running.
  core::timer_counts requests;
  core::timer_line_counts lines;
  /// Of workers, in any order, by this process's clock.
  std::vector<core::last_request> last_requests{};
};

/// EXTENSION POINT. The TIMER SERVER watches deadlines that workers, and actors
/// of this program, set for themselves.
using timer_server_actor = interface<
  // These workers may have timers from now on.
  void(workers_timed),
  // These workers have ended, and their timers with them.
  void(workers_untimed),
  // The sender is monitored; its timers end with it.
  void(acquire_timer), void(release_timer),
  // The same on behalf of a worker.
  void(acquire_worker_timer), void(release_worker_timer),
  // For the status of workers, and for tests.
  timer_figures(timer_question)>;

/// A timer server of your own in three functions, as torch's TimerServer: ours reads,
/// watches and wakes up for it. Called by an actor, one after the other; they must not
/// block. Null: nothing is done. Not for the timers of actors of this program.
struct timer_functions {
  /// A process sets a timer, or gives it a new deadline.
  /// @param left  until the deadline; 0 or less: it is over
  std::function<void(const core::timed_worker& who, std::string_view scope,
                     core::duration left)>
    on_acquired{};
  std::function<void(const core::timed_worker& who, std::string_view scope)>
    on_released{};
  /// A deadline is over.
  /// @returns whether the worker is to be killed, which ends the generation. If
  ///          not, it goes on, without the other timers that it has set so far.
  std::function<bool(const core::overrun&)> on_overrun{};
};

/// What a timer server is given.
struct timer_server_config {
  /// Null: workers have no way to write.
  std::shared_ptr<ports::timer_source> source{};
  /// Null: sd_notify(3) is not supported.
  std::shared_ptr<ports::notice_source> notices{};
  /// Null: only workers themselves may have timers, not their child processes,
  /// and only from when they are known.
  std::shared_ptr<ports::session_members> members{};
  /// Longest interval between two `WATCHDOG=1` of a worker.
  core::duration watchdog{0};
  core::timer_limits limits{};
  log lines{};
  timer_functions functions{};
};

/// Starts our own; it ends with `kill`.
timer_server_actor spawn_timer_server(caf::actor_system& system,
                                      timer_server_config config);

} // namespace actorrun

ACTORRUN_BEGIN_LOCAL_TYPES(actorrun_timers, ACTORRUN_FIRST_TYPE_ID + 200)
ACTORRUN_LOCAL_TYPE(actorrun_timers, actorrun::worker_overrun)
ACTORRUN_LOCAL_TYPE(actorrun_timers, actorrun::timer_overrun)
ACTORRUN_LOCAL_TYPE(actorrun_timers, actorrun::workers_timed)
ACTORRUN_LOCAL_TYPE(actorrun_timers, actorrun::workers_untimed)
ACTORRUN_LOCAL_TYPE(actorrun_timers, actorrun::acquire_timer)
ACTORRUN_LOCAL_TYPE(actorrun_timers, actorrun::release_timer)
ACTORRUN_LOCAL_TYPE(actorrun_timers, actorrun::acquire_worker_timer)
ACTORRUN_LOCAL_TYPE(actorrun_timers, actorrun::release_worker_timer)
ACTORRUN_LOCAL_TYPE(actorrun_timers, actorrun::timer_question)
ACTORRUN_LOCAL_TYPE(actorrun_timers, actorrun::timer_figures)
ACTORRUN_LOCAL_TYPE(actorrun_timers, actorrun::core::timer_fired)
ACTORRUN_END_LOCAL_TYPES(actorrun_timers)
