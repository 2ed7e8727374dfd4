#include "actors/core/protocol/charter.hpp"

#include <algorithm>
#include <functional>

namespace actorrun::core {

namespace {

bool is_same_host(const excluded_host& x, const excluded_host& y) {
  return x.host == y.host;
}

// Leaves those that are in `other`, too.
template <class T, class Key>
void keep_common(std::vector<T>& of, const std::vector<T>& other, Key key) {
  std::erase_if(of, [&](const T& x) {
    return std::ranges::find(other, std::invoke(key, x), key) == other.end();
  });
}

} // namespace

bool are_orders_equal(const charter& x, const charter& y) {
  return x.settings == y.settings && x.is_resized == y.is_resized
         && std::ranges::equal(x.excluded, y.excluded, is_same_host)
         && x.drains == y.drains;
}

bool is_same_job(const charter& x, const charter& y) {
  return x.revision == y.revision && are_orders_equal(x, y)
         && x.restart_count == y.restart_count && x.failing == y.failing;
}

bool fits(const job_settings& asked, const job_settings& job, bool is_resized,
          std::chrono::milliseconds leeway) {
  auto x = asked;
  if (is_resized) {
    x.agent_count_min = job.agent_count_min;
    x.agent_count_max = job.agent_count_max;
    if (x.lease >= job.lease - leeway && x.lease <= job.lease + leeway)
      x.lease = job.lease;
  }
  return x == job;
}

std::optional<charter> charter_witnesses::hear(const agent_id& who,
                                               const charter& told) {
  const auto agrees = [&](const auto& x) {
    return x.first != who && x.second.settings == told.settings
           && x.second.is_resized == told.is_resized;
  };
  const auto other = std::ranges::find_if(told_, agrees);
  if (other == told_.end()) {
    told_[who] = told;
    return std::nullopt;
  }
  auto out = told;
  out.revision = std::max(out.revision, other->second.revision);
  out.restart_count = std::max(out.restart_count, other->second.restart_count);
  const auto& theirs = other->second;
  keep_common(out.excluded, theirs.excluded, &excluded_host::host);
  keep_common(out.drains, theirs.drains, &pending_drain::agent);
  keep_common(out.failing, theirs.failing, &failing_host::host);
  for (auto& x : out.failing)
    x.failure_count
      = std::min(x.failure_count,
                 std::ranges::find(theirs.failing, x.host, &failing_host::host)
                   ->failure_count);
  told_[who] = told;
  if (out.revision <= known_)
    return std::nullopt;
  known_ = out.revision;
  return out;
}

} // namespace actorrun::core
