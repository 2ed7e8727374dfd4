// Counts how long a job took to regroup, generation by generation.
#pragma once

#include "messages/job.pb.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace actorrun::detail {

/// A histogram that never counts a generation twice. Generations that are not in
/// the status any more when it is looked at are missed: it has the newest ones.
class regroup_times {
public:
  /// In seconds; the last bucket has no limit.
  static constexpr auto limits
    = std::array{0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0};

  void look_at(const v1::JobStatus& job);

  /// Regroups of at most `limits[i]`; with i = `limits.size()` all of them.
  uint64_t count_up_to(size_t i) const;

  uint64_t count() const { return count_up_to(limits.size()); }
  double sum() const { return sum_; } ///< In seconds.

private:
  std::array<uint64_t, limits.size() + 1> counts_{};
  double sum_ = 0;
  uint64_t last_generation_ = 0;
};

} // namespace actorrun::detail
