#include "actors/core/protocol/status_round.hpp"

#include <cassert>
#include <iterator>
#include <utility>

namespace actorrun::core {

std::set<agent_id> status_round::begin(std::set<agent_id> agents,
                                       time_point now) {
  assert(!is_open_);
  while (agents.size() > asked_max)
    agents.erase(std::prev(agents.end()));
  awaited_ = agents;
  is_open_ = true;
  ++number_;
  settle(now);
  return agents;
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
