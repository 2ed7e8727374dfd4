#include "actors/core/protocol/lease_desk.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace actorrun::core {

void lease_desk::open(const agent_id& agent, time_point now) {
  known_[agent].heard = now;
}

bool lease_desk::hear(const agent_id& agent, time_point sent, time_point now) {
  const auto i = known_.find(agent);
  if (i == known_.end())
    return false;
  auto& known = i->second;
  if (std::exchange(known.sent, sent) != sent) {
    known.heard = now;
    known.is_renewed = true;
  }
  return true;
}

std::vector<renewal> lease_desk::take() {
  auto out = std::vector<renewal>{};
  for (auto& [agent, known] : known_)
    if (std::exchange(known.is_renewed, false))
      out.push_back({agent, known.heard});
  std::ranges::sort(
    out, {}, [](const renewal& x) { return std::tie(x.heard, x.agent); });
  return out;
}

std::optional<time_point> lease_desk::heard(const agent_id& agent) const {
  const auto i = known_.find(agent);
  return i == known_.end() ? std::nullopt : std::optional{i->second.heard};
}

} // namespace actorrun::core
