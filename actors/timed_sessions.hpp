// Owns what the timer server knows of the processes that workers have started.
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

/// Most processes that are no workers and have timers, of all workers.
inline constexpr size_t session_member_count_max = 1024;

/// When there are so many, those that have ended are looked for, so often at
/// most.
inline constexpr auto session_purge_interval = std::chrono::seconds{1};

/// A program is often not the worker itself: a shell or a profiler starts it. A
/// process of a worker's session has timers that are its own; they vanish with
/// it. Which process that is its pid and its birth say, so nobody is stopped for
/// what somebody else has left behind.
class timed_sessions {
public:
  using timed_worker = core::timed_worker;

  /// @param port Null: no worker has any kin.
  explicit timed_sessions(std::shared_ptr<ports::session_members> port)
    : port_(std::move(port)) {}

  /// See the port; a worker is of its own kin.
  std::optional<int64_t> worker_of(int64_t pid) const {
    return port_ ? port_->worker_of(pid) : std::nullopt;
  }

  /// Whether there is such a process, whosever it is.
  bool exists(int64_t pid) const {
    return port_ && port_->birth_of(pid).has_value();
  }

  /// Whether there is room for another.
  bool is_full() const { return known_.size() >= session_member_count_max; }

  /// Forgets those that have ended, unless that was just done.
  /// @returns them
  std::vector<timed_worker> purge(core::time_point now);

  /// @param who Of a worker's, and `process` is set.
  /// @returns false: it has ended already
  /// @pre `!is_full()`
  bool add(const timed_worker& who);

  /// Whether the process is still the one that was added.
  bool is_alive(const timed_worker& who) const;

  void remove(const timed_worker& who) { known_.erase(who); }

  /// Forgets all kin of a worker.
  /// @returns them
  std::vector<timed_worker> remove_of(epoch_id epoch, uint32_t local_rank);

  size_t size() const { return known_.size(); }

private:
  std::shared_ptr<ports::session_members> port_;
  std::map<timed_worker, uint64_t> known_; ///< And when each began.
  std::optional<core::time_point> purged_at_;
};

} // namespace actorrun
