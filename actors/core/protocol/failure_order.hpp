// Orders the failures of one generation, on all its nodes, by the workers' times of
// death.
#pragma once

#include "actors/core/failure.hpp"

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace actorrun::core {

/// Finds the root cause. The time of a death is the arrival of its report less
/// the age that the agent measured. So the clocks of hosts are never compared,
/// and the only error is the time that a message took: it makes failures seem
/// younger. What an agent reports first happened first, and is never younger, but
/// for a failure that it has held back.
///
/// Deaths at the same time are ordered by arrival, then by global rank. A worker
/// whose own words say that a peer has gone counts as having died 0.5 s later, and
/// one that was killed by a signal as having died when it may have begun to end.
/// Those that were being stopped come last.
class failure_order {
public:
  /// A failure may be added again, if its report was repeated after a link broke.
  void add(const worker_failure& x, time_point now);

  /// Adds the failures that one agent has reported in one message.
  void add(const collateral& xs, time_point now);

  bool empty() const { return entries_.empty(); }

  /// The root cause, as far as it is known.
  /// @pre not empty
  const worker_failure& first() const { return entries_.front().failure; }

  /// The same, aged up to `now`.
  worker_failure first(time_point now) const;

  /// The others, brief, aged up to `now`.
  collateral others(time_point now) const;

  void clear() { *this = {}; }

private:
  struct entry {
    worker_failure failure;
    time_point died;      ///< By this process's clock.
    uint64_t arrival = 0; ///< Of the message that reported it.
  };

  static bool precedes(const entry& a, const entry& b);
  void insert(const worker_failure& x, time_point now);

  std::vector<entry> entries_; ///< At most 1 + `other_failures_max`, in order.
  uint32_t unlisted_count_ = 0;
  uint64_t arrivals_ = 0;
  std::set<std::pair<agent_id, uint32_t>> known_; ///< By local rank.
};

} // namespace actorrun::core
