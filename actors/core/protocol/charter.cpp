#include "actors/core/protocol/charter.hpp"

#include <algorithm>
#include <functional>

namespace actorrun::core {

namespace {

bool is_same_host(const excluded_host& x, const excluded_host& y) {
  return x.host == y.host;
}

// What both name. Of what only one of them names, what was known before: it may
// not have heard of an order, and one may lie.
template <class T, class Key>
std::vector<T> agreed(const std::vector<T>& one, const std::vector<T>& other,
                      const std::vector<T>& before, Key key) {
  const auto names = [&](const std::vector<T>& of, const T& x) {
    return std::ranges::find(of, std::invoke(key, x), key) != of.end();
  };
  auto out = std::vector<T>{};
  for (const auto& x : one)
    if (names(other, x) || names(before, x))
      out.push_back(x);
  for (const auto& x : other)
    if (!names(one, x) && names(before, x))
      out.push_back(x);
  return out;
}

} // namespace

bool are_orders_equal(const charter& x, const charter& y) {
  return x.settings == y.settings && x.is_resized == y.is_resized
         && std::ranges::is_permutation(x.excluded, y.excluded, is_same_host)
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
  if (age <= age_)
    return std::nullopt;
  age_ = age;
  out.restart_count = std::max(told.restart_count, other->restart_count);
  out.excluded = agreed(told.excluded, other->excluded, known_.excluded,
                        &excluded_host::host);
  out.drains
    = agreed(told.drains, other->drains, known_.drains, &pending_drain::agent);
  out.failing = agreed(told.failing, other->failing, {}, &failing_host::host);
  for (auto& x : out.failing)
    x.failure_count
      = std::min(x.failure_count,
                 std::ranges::find(other->failing, x.host, &failing_host::host)
                   ->failure_count);
  known_ = out;
  return out;
}

} // namespace actorrun::core
