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
  told_[who] = told;
  const charter* other = nullptr; // The newest one that says the same.
  for (const auto& [id, x] : told_)
    if (id != who && x.settings == told.settings
        && x.is_resized == told.is_resized
        && (other == nullptr || x.revision > other->revision))
      other = &x;
  if (other == nullptr)
    return std::nullopt;
  auto out = told;
  out.revision = std::max(told.revision, other->revision);
  const auto age
    = std::pair{out.revision, std::min(told.revision, other->revision)};
  if (age <= known_)
    return std::nullopt;
  known_ = age;
  out.restart_count = std::max(told.restart_count, other->restart_count);
  keep_common(out.excluded, other->excluded, &excluded_host::host);
  keep_common(out.drains, other->drains, &pending_drain::agent);
  keep_common(out.failing, other->failing, &failing_host::host);
  for (auto& x : out.failing)
    x.failure_count
      = std::min(x.failure_count,
                 std::ranges::find(other->failing, x.host, &failing_host::host)
                   ->failure_count);
  return out;
}

} // namespace actorrun::core
