// Decides for a timer server which worker has overrun which of its timers.
#pragma once

#include "actors/core/time.hpp"
#include "actors/core/timers/clock.hpp"
#include "actors/core/timers/deadlines.hpp"
#include "actors/core/timers/request.hpp"
#include "actors/core/timers/wakeups.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

namespace actorrun::core {

/// Most workers a table watches at once: two generations of a full agent.
inline constexpr uint32_t timed_worker_count_max = 8192;

/// How long a source of requests may take to say that it has been read out,
/// until the table decides without it.
inline constexpr auto source_timeout = std::chrono::milliseconds{100};

/// Expiries that are only recorded, per worker and `record_period`.
inline constexpr uint32_t records_max = 16;
inline constexpr auto record_period = std::chrono::seconds{1};

// -- events: what has happened ------------------------------------------------
// Texts need to last for the call only.

struct timed_worker_started {
  timed_worker who;
  int64_t pid = 0; ///< 0: it is no process; it uses the local events.
};

struct timed_worker_ended {
  timed_worker who;
};

/// A line of the FIFO; see `timer_request`.
struct timer_requested {
  int64_t pid = 0;
  std::string_view scope;
  bool is_release = false;
  duration expiration{0};
  int signal = 0;
  /// The wall clock minus the monotonic one, when the line was read.
  duration wall_offset{0};
  duration age{0}; ///< Since the line was read.
};

/// A process says that it makes progress, and within what time it will again.
struct progress_reported {
  int64_t pid = 0;
  std::string_view scope;
  duration within{0}; ///< 0 or less: it says that it is stuck.
  int signal = 0;
};

/// A part of this process starts or renews a timer of a worker.
struct timer_acquired {
  timed_worker who;
  std::string_view scope;
  time_point due;
  int signal = 0;
};

struct timer_released {
  timed_worker who;
  std::string_view scope;
};

/// A worker that was reported goes on: it may have timers again.
struct overrun_forgiven {
  timed_worker who;
};

/// All that was in the sources when `drain_source` was ordered has come in.
struct source_drained {
  uint64_t round = 0;
};

using timer_event
  = std::variant<timed_worker_started, timed_worker_ended, timer_requested,
                 progress_reported, timer_acquired, timer_released,
                 overrun_forgiven, source_drained, timer_fired>;

// -- effects: what the owner must do, in order --------------------------------

/// Read the sources until they are empty; then report `source_drained`, after
/// all that was read. Without a source: report at once, after what is in the
/// mailbox.
struct drain_source {
  uint64_t round = 0;
};

/// Stop this worker with this signal (1..`timer_signal_max`): it has failed. At
/// most once per worker, unless it is forgiven.
struct report_overrun {
  overrun what;
};

/// Write it down; the worker goes on. Its signal is 0 or less.
struct record_overrun {
  overrun what;
};

using timer_effect
  = std::variant<arm_timer, drain_source, report_overrun, record_overrun>;

/// One line per effect: `report_overrun 3/1 pid 4711 "step" 2000 ns late,
/// signal 9`.
std::string to_string(const timer_effect& x);

/// Holds the timers of one agent's workers.
///
/// An overrun is decided in two steps. A deadline is over: the table asks for
/// all that the sources still hold (`drain_source`). Only when that has come in
/// does it report, so a worker that released in time is never killed because
/// its line had to wait; the rest of that worker's timers is dropped. A source
/// that does not answer within `source_timeout` is not waited for.
///
/// The same protects from the pid of a dead worker that is given again: what a
/// process with that pid asks for counts only when all that the dead one may
/// have left in the sources has been read.
class timer_table {
public:
  explicit timer_table(timer_limits limits = {}) : deadlines_(limits) {}

  /// Applies one event and returns its effects. Deterministic.
  /// @param now Never decreases between calls.
  /// @complexity O(log N) for N timers; ending a worker is O(K log N) for K.
  std::vector<timer_effect> step(const timer_event& event, time_point now);

  /// The process with this pid; none if the table does not watch it.
  std::optional<timed_worker> find(int64_t pid) const;

  /// Timers running.
  size_t size() const { return deadlines_.size(); }

  /// Timers running of one worker.
  size_t size_of(const timed_worker& who) const;

  const timer_counts& counts() const { return counts_; }

  /// Of workers that have asked for something, by ascending worker. Not of those
  /// that are no processes. O(N) for N processes.
  std::vector<last_request> last_requests() const;

private:
  using effects = std::vector<timer_effect>;

  struct watch {
    timed_worker who;
    int64_t pid = 0;
    bool has_overrun = false;
    uint32_t record_count = 0; ///< Since `recording_since`.
    time_point recording_since = time_point::min();
    std::string last_scope{};
    std::optional<time_point> last_request_at{};
  };

  void on(const timed_worker_started& event, time_point now, effects& out);
  void on(const timed_worker_ended& event, time_point now, effects& out);
  void on(const timer_requested& event, time_point now, effects& out);
  void on(const progress_reported& event, time_point now, effects& out);
  void on(const timer_acquired& event, time_point now, effects& out);
  void on(const timer_released& event, time_point now, effects& out);
  void on(const overrun_forgiven& event, time_point now, effects& out);
  void on(const source_drained& event, time_point now, effects& out);
  void on(const timer_fired& event, time_point now, effects& out);

  std::optional<uint32_t> place_of(int64_t pid);
  std::optional<uint32_t> place_of(const timed_worker& who);
  uint32_t free_place();
  void remember(uint32_t place, std::string_view scope, time_point now);
  void acquire(uint32_t place, std::string_view scope, time_point due,
               int signal, duration limit);
  void end(uint32_t place, effects& out);
  void look(time_point now, effects& out);
  void decide(time_point now, effects& out);
  void record(watch& worker, overrun what, time_point now, effects& out);

  timer_deadlines deadlines_; ///< Its workers are places in `watches_`.
  timer_clock clock_;
  timer_wakeups wakeups_;
  timer_counts counts_;
  std::vector<watch> watches_;
  std::vector<uint32_t> free_places_;
  std::map<timed_worker, uint32_t> by_worker_;
  std::unordered_map<int64_t, uint32_t> by_pid_;
  /// Pids of dead workers, and the round after which nothing of them comes.
  std::map<int64_t, uint64_t> retired_;
  uint64_t round_ = 0;    ///< The last one ordered.
  uint64_t decisive_ = 0; ///< The one an overrun waits for; 0: none.
  time_point drained_by_; ///< At the latest, the source has been read by then.
};

} // namespace actorrun::core
