#include "actors/core/protocol/status_round.hpp"

#include <algorithm>
#include <cassert>
#include <utility>
#include <vector>

namespace actorrun::core {

std::set<agent_id>
status_round::begin(const std::map<agent_id, uint64_t>& agents,
                    time_point now) {
  assert(!is_open_);
  auto order = std::vector<std::pair<uint64_t, const agent_id*>>{};
  for (const auto& [id, asked] : agents)
    order.emplace_back(asked, &id);
  const auto count = std::min(order.size(), asked_max);
  // Of those with the same turn, the first by name.
  std::ranges::stable_sort(order, {}, &decltype(order)::value_type::first);
  awaited_.clear();
  for (size_t i = 0; i < count; ++i)
    awaited_.insert(*order[i].second);
  is_open_ = true;
  ++number_;
  auto out = awaited_;
  settle(now);
  return out;
}

void status_round::answered(const agent_id& agent, uint64_t number,
                            time_point now) {
  if (number == number_)
    lost(agent, now);
}

void status_round::lost(const agent_id& agent, time_point now) {
  awaited_.erase(agent);
  settle(now);
}

void status_round::expired(uint64_t number, time_point now) {
  if (number != number_)
    return;
  awaited_.clear();
  settle(now);
}

void status_round::settle(time_point now) {
  if (!is_open_ || !awaited_.empty())
    return;
  is_open_ = false;
  ended_ = now;
}

} // namespace actorrun::core
