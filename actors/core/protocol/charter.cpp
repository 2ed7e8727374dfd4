#include "actors/core/protocol/charter.hpp"

#include <algorithm>
#include <functional>

namespace actorrun::core {

namespace {

bool is_agent(const agent_id& x) {
  return !x.value.empty();
}

bool has_same_numbers(const charter& x, const charter& y) {
  return x.settings == y.settings && x.is_resized == y.is_resized;
}

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
  // The newest agent that says the same, else what was left behind.
  const charter* other = nullptr;
  auto now = testimony{};
  for (const auto& [id, x] : told_) {
    const auto with = testimony{is_agent(who) && is_agent(id),
                                std::max(told.revision, x.revision),
                                std::min(told.revision, x.revision)};
    if (id != who && has_same_numbers(x, told)
        && (other == nullptr || with > now)) {
      other = &x;
      now = with;
    }
  }
  if (other == nullptr)
    return std::nullopt;
  // What was left behind may name only a part of the orders.
  const auto is_news = has_same_numbers(known_, told)
                         ? now > testimony_
                         : now.revisions() > testimony_.revisions();
  if (!is_news)
    return std::nullopt;
  testimony_ = now;
  auto out = told;
  out.revision = now.higher_revision;
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
