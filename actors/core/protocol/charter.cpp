#include "actors/core/protocol/charter.hpp"

#include <algorithm>
#include <functional>

namespace actorrun::core {

namespace {

bool is_same_host(const excluded_host& x, const excluded_host& y) {
  return x.host == y.host;
}

// The one of `all` with this key; null: none.
template <class T, class Value, class Key>
const T* entry_of(const std::vector<T>& all, const Value& key, Key key_of) {
  const auto i = std::ranges::find(all, key, key_of);
  return i == all.end() ? nullptr : &*i;
}

using witnesses = std::vector<const charter*>;

// Leaves those that one of `others` has, too.
template <class T, class Key>
void keep_common(std::vector<T>& of, const witnesses& others,
                 std::vector<T> charter::*list, Key key) {
  std::erase_if(of, [&](const T& x) {
    return std::ranges::none_of(others, [&](const charter* other) {
      return entry_of(other->*list, std::invoke(key, x), key) != nullptr;
    });
  });
}

// How many of the failures that `x` has counted another one has counted, too.
uint32_t common_count(const failing_host& x, const witnesses& others) {
  auto out = uint32_t{0};
  for (const auto* other : others)
    if (const auto* y = entry_of(other->failing, x.host, &failing_host::host))
      out = std::max(out, std::min(x.failure_count, y->failure_count));
  return out;
}

// Whether `x` names an order, or a failure, that `y` does not.
bool has_more(const charter& x, const charter& y) {
  const auto lacks = [](const auto& all, auto key) {
    return [&all, key](const auto& one) {
      return entry_of(all, std::invoke(key, one), key) == nullptr;
    };
  };
  return std::ranges::any_of(x.excluded,
                             lacks(y.excluded, &excluded_host::host))
         || std::ranges::any_of(x.drains,
                                lacks(y.drains, &pending_drain::agent))
         || std::ranges::any_of(x.failing, [&](const failing_host& one) {
              const auto* other
                = entry_of(y.failing, one.host, &failing_host::host);
              return other == nullptr
                     || other->failure_count < one.failure_count;
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
  // Of lists an earlier coordinator may have left a part, or none.
  const auto* newest = &told;
  auto others = witnesses{};
  auto revision = told.revision;
  auto restart_count = told.restart_count;
  for (const auto& [id, x] : told_) {
    if (id == who || x.settings != told.settings
        || x.is_resized != told.is_resized)
      continue;
    others.push_back(&x);
    revision = std::max(revision, x.revision);
    restart_count = std::max(restart_count, x.restart_count);
    if (x.revision > newest->revision && !id.value.empty())
      newest = &x;
  }
  if (others.empty())
    return std::nullopt;
  std::ranges::replace(others, newest, &told);
  auto out = *newest;
  out.revision = revision;
  out.restart_count = restart_count;
  keep_common(out.excluded, others, &charter::excluded, &excluded_host::host);
  keep_common(out.drains, others, &charter::drains, &pending_drain::agent);
  for (auto& x : out.failing)
    x.failure_count = common_count(x, others);
  std::erase_if(out.failing,
                [](const failing_host& x) { return x.failure_count == 0; });
  const auto is_newer = out.revision > known_.revision;
  const auto is_same = out.revision == known_.revision
                       && out.settings == known_.settings
                       && out.is_resized == known_.is_resized;
  if (!is_newer && !(is_same && has_more(out, known_)))
    return std::nullopt;
  known_ = out;
  return out;
}

} // namespace actorrun::core
