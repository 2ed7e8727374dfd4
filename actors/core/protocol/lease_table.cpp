#include "actors/core/protocol/lease_table.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace actorrun::core {

lease_table::lease_table(duration length) : length_(length) {
  assert(length > duration::zero());
}

void lease_table::renew(const agent_id& agent, time_point now) {
  // A stretched lease may already last longer than a new one would.
  const auto due
    = std::max(now + length_, order_.empty() ? now : order_.back().due);
  if (auto i = leases_.find(agent); i != leases_.end()) {
    i->second->due = due;
    i->second->is_stretched = false;
    order_.splice(order_.end(), order_, i->second);
  } else {
    leases_.emplace(agent, order_.insert(order_.end(), {agent, due}));
  }
}

void lease_table::drop(const agent_id& agent) {
  if (auto i = leases_.find(agent); i != leases_.end()) {
    order_.erase(i->second);
    leases_.erase(i);
  }
}

// What was renewed since the last time is at the end, so the order stays.
void lease_table::stretch(duration extra) {
  for (auto& x : order_)
    if (!std::exchange(x.is_stretched, true))
      x.due += extra;
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

std::optional<time_point> lease_table::next_due() const {
  if (order_.empty())
    return std::nullopt;
  return order_.front().due;
}

} // namespace actorrun::core
