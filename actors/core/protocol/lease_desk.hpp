// Answers the keep-alives of agents between the coordinator's decisions.
#pragma once

#include "actors/core/time.hpp"
#include "messages/ids.hpp"

#include <optional>
#include <unordered_map>
#include <vector>

namespace actorrun::core {

/// An agent's keep-alive was answered.
struct renewal {
  agent_id agent;
  time_point heard; ///< By the coordinator's clock.
};

/// Each agent speaks some times per lease, and what it says matters only when a
/// lease is about to end. So it is answered and written down here, and the
/// decisions learn of it by then (`leases_renewed`).
///
/// Whoever decides that a lease has ended takes the renewals first and closes the
/// lease last, and no keep-alive is heard in between: otherwise an agent could be
/// told to go on whose place is given away.
class lease_desk {
public:
  /// From now on the agent is answered. Its latest keep-alive stays known.
  void open(const agent_id& agent, time_point now);

  /// From now on it gets no answer, so that it fences itself.
  void close(const agent_id& agent) { known_.erase(agent); }

  /// The same for all agents.
  void close_all() { known_.clear(); }

  /// A keep-alive has arrived. O(1).
  /// @param sent By the agent's clock. As before: it is repeated, and renews
  ///             nothing, because it lengthens no fence.
  /// @returns whether it is answered
  bool hear(const agent_id& agent, time_point sent, time_point now);

  /// The latest renewal of each agent that was heard since the last call, the
  /// earliest first. O(N log N).
  std::vector<renewal> take();

  /// When the agent was last heard; none: it has no lease.
  std::optional<time_point> heard(const agent_id& agent) const;

private:
  struct entry {
    std::optional<time_point> sent;
    time_point heard;
    bool is_renewed = false;
  };

  std::unordered_map<agent_id, entry> known_;
};

} // namespace actorrun::core
