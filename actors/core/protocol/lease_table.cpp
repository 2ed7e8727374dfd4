#include "actors/core/protocol/lease_table.hpp"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <utility>

namespace actorrun::core {

lease_table::lease_table(duration length) : length_(length) {
  assert(length > duration::zero());
}

void lease_table::renew(const agent_id& agent, time_point heard) {
  const auto due = heard + length_;
  const auto i = leases_.find(agent);
  if (i == leases_.end()) {
    leases_.emplace(agent, order_.insert(place_for(due), {agent, due}));
    return;
  }
  const auto known = i->second;
  known->is_stretched = false;
  // A stretched lease may already last longer than a new one would.
  if (due <= known->due)
    return;
  known->due = due;
  auto moved = entries{}; // Out of the way: it is no place for itself.
  moved.splice(moved.end(), order_, known);
  order_.splice(place_for(known->due), moved);
}

/// Behind all that are due by then.
lease_table::entries::iterator lease_table::place_for(time_point due) {
  auto i = order_.end();
  while (i != order_.begin() && std::prev(i)->due > due)
    --i;
  return i;
}

void lease_table::drop(const agent_id& agent) {
  if (auto i = leases_.find(agent); i != leases_.end()) {
    order_.erase(i->second);
    leases_.erase(i);
  }
}

void lease_table::stretch(duration extra) {
  for (auto& x : order_)
    if (!std::exchange(x.is_stretched, true))
      x.due += extra;
  order_.sort([](const entry& x, const entry& y) { return x.due < y.due; });
}

std::vector<agent_id> lease_table::expire(time_point now) {
  auto expired = std::vector<agent_id>{};
  while (!order_.empty() && order_.front().due <= now) {
    expired.push_back(order_.front().agent);
    leases_.erase(order_.front().agent);
    order_.pop_front();
  }
  return expired;
}

std::optional<time_point> lease_table::heard(const agent_id& agent) const {
  const auto i = leases_.find(agent);
  return i == leases_.end() ? std::nullopt
                            : std::optional{i->second->due - length_};
}

std::optional<time_point> lease_table::next_due() const {
  if (order_.empty())
    return std::nullopt;
  return order_.front().due;
}

} // namespace actorrun::core
