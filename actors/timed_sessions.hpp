// Records the processes with timers that are children of workers.
#pragma once

#include "actors/core/timers/table.hpp"
#include "actors/ports/timer_source.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace actorrun {

/// At most this many processes that are not workers may have timers.
inline constexpr size_t session_member_count_max = 1024;

/// Minimum interval between two searches for ended ones, when there is no room
/// for another.
inline constexpr auto session_purge_interval = std::chrono::seconds{1};

/// Often the program is not the worker itself: a shell or a profiler starts it. A
/// process of a worker's session has timers of its own, which end with it. It is
/// identified by its pid and its start time, so that no worker is stopped for a
/// timer of an earlier process with the same pid.
class timed_sessions {
public:
  using timed_worker = core::timed_worker;

  /// @param port Null: child processes are unknown.
  explicit timed_sessions(std::shared_ptr<ports::session_members> port)
    : port_(std::move(port)) {}

  /// The worker that a process belongs to, which may be itself; see the port.
  std::optional<int64_t> worker_of(int64_t pid) const {
    return port_ ? port_->worker_of(pid) : std::nullopt;
  }

  /// Whether there is such a process.
  bool exists(int64_t pid) const {
    return port_ && port_->birth_of(pid).has_value();
  }

  /// Whether there is room for another.
  bool is_full() const { return known_.size() >= session_member_count_max; }

  /// Forgets the ended processes, unless that was just done.
  /// @returns these processes
  std::vector<timed_worker> purge(core::time_point now);

  /// @param who A child process of a worker: `process` is set.
  /// @returns false: it has ended already
  /// @pre `!is_full()`
  bool add(const timed_worker& who);

  /// Whether the process is still the one that was added.
  bool is_alive(const timed_worker& who) const;

  void remove(const timed_worker& who) { known_.erase(who); }

  /// Forgets all child processes of a worker.
  /// @returns them
  std::vector<timed_worker> remove_of(generation_id generation,
                                      uint32_t local_rank);

  size_t size() const { return known_.size(); }

private:
  std::shared_ptr<ports::session_members> port_;
  std::map<timed_worker, uint64_t> known_; ///< And when each began.
  std::optional<core::time_point> purged_at_;
};

} // namespace actorrun
