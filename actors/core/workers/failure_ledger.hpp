// Keeps a group's failures in order, and which of them was reported first.
#pragma once

#include "actors/core/failure.hpp"
#include "actors/core/time.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

namespace actorrun::core {

/// What was reported first, and the failures beside it. Until one has been reported
/// they are those that are held back.
class failure_ledger {
public:
  /// @param failure Aged up to now, here and below.
  void report(const worker_failure& failure, time_point now);

  bool has_reported() const { return first_.has_value(); }

  /// The worker had failed before it ended: that may be the root cause, so that it is
  /// listed by its age, however many are.
  void mark_early(uint32_t local_rank) { early_.insert(local_rank); }

  /// Adds one that is not reported, or not yet.
  void add(worker_failure failure, time_point now);

  /// Whether there are such.
  bool empty() const { return others_.empty(); }

  /// Whether one more would be listed.
  bool has_room() const { return others_.listed.size() < other_failures_max; }

  /// Takes the first of those that are held back.
  /// @pre `!empty()`
  worker_failure take_held(time_point now);

  /// Takes all but the reported one. If one happened before that, the list has the
  /// reported one again, where it belongs.
  collateral take_others(time_point now);

private:
  void insert(std::vector<worker_failure>::const_iterator place,
              worker_failure x);

  // Their ages count up to time 0, so that they need not grow: they are negative.
  std::optional<worker_failure> first_;
  collateral others_;
  std::set<uint32_t> early_; ///< Local ranks.
};

} // namespace actorrun::core
