// Decides which nodes get no place for a while, because they have cost generations.
#pragma once

#include "actors/core/protocol/agent_table.hpp"
#include "actors/core/protocol/generation_costs.hpp"
#include "actors/core/protocol/rendezvous_events.hpp"

#include <optional>
#include <string>
#include <vector>

namespace actorrun::core {

/// Applies what nodes have cost to their records.
class stand_by {
public:
  /// All must live as long as this.
  /// @param count_min So many others must be left.
  stand_by(agent_table& agents, generation_costs& costs, uint32_t count_min,
           time_point now)
    : agents_(agents), costs_(costs), count_min_(count_min), now_(now) {}

  /// A generation has ended because this agent was lost, or cut off.
  /// @returns news if its node stands by
  std::optional<report_stand_by> charge(const agent_id& agent, time_point when,
                                        const std::string& reason);

  report_return let_in(const agent_record& record, std::string reason);

  /// Nodes that have been reachable for long enough.
  std::vector<report_return> let_in_those_due();

  /// A job that has too few others takes it as it is.
  std::vector<report_return> let_in_for_minimum();

private:
  agent_record* find_successor(const std::string& host);
  void follow(const std::string& host);

  agent_table& agents_;
  generation_costs& costs_;
  uint32_t count_min_;
  time_point now_;
};

/// What a node that stands by waits for, for people.
std::string stand_by_text(const agent_record& x, const generation_costs& costs,
                          time_point now);

} // namespace actorrun::core
