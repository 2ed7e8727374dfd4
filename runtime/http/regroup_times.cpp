#include "runtime/http/regroup_times.hpp"

#include <algorithm>
#include <numeric>

namespace actorrun::detail {

void regroup_times::look_at(const v1::JobStatus& job) {
  for (const auto& x : job.generations()) {
    if (!x.has_regroup_us() || x.generation() <= last_generation_)
      continue;
    const auto seconds = static_cast<double>(x.regroup_us()) / 1e6;
    const auto bucket = std::lower_bound(limits.begin(), limits.end(), seconds);
    ++counts_[static_cast<size_t>(bucket - limits.begin())];
    sum_ += seconds;
    last_generation_ = x.generation();
  }
}

uint64_t regroup_times::count_up_to(size_t i) const {
  return std::accumulate(counts_.begin(),
                         counts_.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                         uint64_t{0});
}

} // namespace actorrun::detail
