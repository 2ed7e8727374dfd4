// Lists the nodes that get no place in a generation, because workers there have
// outlived SIGKILL.
#pragma once

#include "messages/ids.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace actorrun::core {

struct quarantined_node {
  agent_id agent;
  std::string host;
  uint32_t unkillable_count = 0;

  friend bool operator==(const quarantined_node&, const quarantined_node&)
    = default;
};

/// At most this many nodes are listed; the oldest go first.
inline constexpr size_t quarantined_nodes_max = 16;

/// At most one entry per agent.
class quarantine {
public:
  /// @returns false if the agent is listed already
  bool add(quarantined_node x);

  /// A new agent of the host joined, so its operator takes the host for healthy.
  void clear(const std::string& host);

  bool contains(const agent_id& agent) const;

  /// The newest last.
  const std::vector<quarantined_node>& list() const { return list_; }

  /// `workers on node-b, node-c outlived SIGKILL`
  std::string text() const;

private:
  std::vector<quarantined_node> list_;
};

} // namespace actorrun::core
