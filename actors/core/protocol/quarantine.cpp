#include "actors/core/protocol/quarantine.hpp"

#include <algorithm>
#include <utility>

namespace actorrun::core {

bool node_marks::add(marked_node x) {
  if (contains(x.agent))
    return false;
  if (list_.size() == marked_nodes_max)
    list_.erase(list_.begin());
  list_.push_back(std::move(x));
  return true;
}

void node_marks::clear(const std::string& host) {
  std::erase_if(list_, [&host](const auto& x) { return x.host == host; });
}

bool node_marks::contains(const agent_id& agent) const {
  return std::ranges::find(list_, agent, &marked_node::agent) != list_.end();
}

std::string node_marks::text() const {
  auto hosts = std::string{};
  for (const auto& x : list_)
    hosts += (hosts.empty() ? "" : ", ") + x.host;
  return "workers on " + hosts + " outlived SIGKILL";
}

} // namespace actorrun::core
