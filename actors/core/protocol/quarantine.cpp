#include "actors/core/protocol/quarantine.hpp"

#include <algorithm>
#include <utility>

namespace actorrun::core {

bool quarantine::add(quarantined_node x) {
  if (contains(x.agent))
    return false;
  if (list_.size() == quarantined_nodes_max)
    list_.erase(list_.begin());
  list_.push_back(std::move(x));
  return true;
}

void quarantine::clear(const std::string& host) {
  std::erase_if(list_, [&host](const auto& x) { return x.host == host; });
}

bool quarantine::contains(const agent_id& agent) const {
  return std::ranges::find(list_, agent, &quarantined_node::agent)
         != list_.end();
}

std::string quarantine::text() const {
  auto hosts = std::string{};
  for (const auto& x : list_)
    hosts += (hosts.empty() ? "" : ", ") + x.host;
  return "workers on " + hosts + " outlived SIGKILL";
}

} // namespace actorrun::core
