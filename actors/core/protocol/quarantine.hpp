// Nodes that no epoch is formed with again, for workers of them have outlived
// SIGKILL.
#pragma once

#include "messages/ids.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace actorrun::core {

struct marked_node {
  agent_id agent;
  std::string host;
  uint32_t unkillable_count = 0;

  friend bool operator==(const marked_node&, const marked_node&) = default;
};

/// Most marks that are kept; the oldest go first.
inline constexpr size_t marked_nodes_max = 16;

/// At most one mark per agent.
class node_marks {
public:
  /// @returns false if the agent is marked already
  bool add(marked_node x);

  /// Somebody has decided that the host is well.
  void clear(const std::string& host);

  bool contains(const agent_id& agent) const;

  /// The newest last.
  const std::vector<marked_node>& list() const { return list_; }

  /// `workers on node-b, node-c outlived SIGKILL`
  std::string text() const;

private:
  std::vector<marked_node> list_;
};

} // namespace actorrun::core
