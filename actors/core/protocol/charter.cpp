#include "actors/core/protocol/charter.hpp"

#include <algorithm>
#include <functional>

namespace actorrun::core {

namespace {

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

std::vector<failing_host>
counted_by_both(const std::vector<failing_host>& one,
                const std::vector<failing_host>& other) {
  auto out = std::vector<failing_host>{};
  for (const auto& x : one)
    if (const auto i = std::ranges::find(other, x.host, &failing_host::host);
        i != other.end())
      out.push_back({x.host, std::min(x.failure_count, i->failure_count)});
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

void learn(std::optional<charter>& known, const charter& told) {
  const auto newest = known ? later(known->newest, told.newest) : told.newest;
  if (!known || told.revision >= known->revision)
    known = told;
  known->lease = told.lease;
  known->newest = newest;
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

void charter_witnesses::know(const charter& left, bool names_hosts) {
  told_[{}] = left;
  names_hosts_ = names_hosts;
}

std::optional<charter> charter_witnesses::hear(const agent_id& who,
                                               const charter& told) {
  told_[who] = told;
  auto is_news = learn(part::numbers, who);
  // Of who has other numbers, the rest is outdated, too.
  if (has_same_numbers(known_, told)) {
    is_news |= learn(part::hosts, who);
    is_news |= learn(part::nodes, who);
  }
  return is_news ? std::optional{known_} : std::nullopt;
}

bool charter_witnesses::speaks_of(part x, const agent_id& who) const {
  const auto is_agent = !who.value.empty();
  return is_agent || x == part::numbers || (x == part::hosts && names_hosts_);
}

bool charter_witnesses::learn(part x, const agent_id& who) {
  const auto& told = told_.at(who);
  const charter* other = nullptr; // The newest one that says the same.
  for (const auto& [id, y] : told_)
    if (id != who && speaks_of(x, id) && has_same_numbers(y, told)
        && (other == nullptr || y.revision > other->revision))
      other = &y;
  if (other == nullptr)
    return false;
  const auto revisions = std::minmax(told.revision, other->revision);
  const auto age = std::pair{revisions.second, revisions.first};
  auto& known = ages_[static_cast<size_t>(x)];
  if (age <= known)
    return false;
  known = age;
  switch (x) {
    case part::numbers:
      // An order that only one of them has heard of is not in it: whoever is told
      // this must not bear witness against the newer revision.
      known_.revision = age.second;
      known_.settings = told.settings;
      known_.is_resized = told.is_resized;
      known_.lease = told.lease;
      known_.newest = told.newest;
      known_.restart_count = std::max(told.restart_count, other->restart_count);
      known_.charged = later(told.charged, other->charged);
      break;
    case part::hosts:
      known_.excluded = agreed(told.excluded, other->excluded, known_.excluded,
                               &excluded_host::host);
      break;
    case part::nodes:
      known_.drains = agreed(told.drains, other->drains, known_.drains,
                             &pending_drain::agent);
      known_.failing = counted_by_both(told.failing, other->failing);
      break;
  }
  return true;
}

} // namespace actorrun::core
