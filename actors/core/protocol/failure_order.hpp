// The failures of one epoch, on all its nodes, in the order in which the
// workers died.
#pragma once

#include "actors/core/failure.hpp"

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace actorrun::core {

/// Finds the first cause. When a worker died is when we heard of it less the
/// age that its agent gave; so the clocks of hosts are never compared, and only
/// the time that a message took can mislead: it makes failures seem younger.
/// What an agent tells first happened first, and is never younger.
///
/// Who died at the same time is ordered by when we heard of it, then by global
/// rank.
class failure_order {
public:
  /// One of them may have been told before, over a link that broke.
  void add(const worker_failure& x, time_point now);

  /// What one agent tells at a time.
  void add(const collateral& xs, time_point now);

  bool empty() const { return entries_.empty(); }

  /// The first cause, as far as it is known.
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
    time_point died;      ///< By our clock.
    uint64_t arrival = 0; ///< Of the message that told it.
  };

  static bool precedes(const entry& a, const entry& b);
  void insert(const worker_failure& x, time_point now);

  std::vector<entry> entries_; ///< At most 1 + `other_failures_max`, in order.
  uint32_t unlisted_count_ = 0;
  uint64_t arrivals_ = 0;
  std::set<std::pair<agent_id, uint32_t>> known_; ///< By local rank.
};

} // namespace actorrun::core
