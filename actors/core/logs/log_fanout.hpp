// Decides which agents read for which operator, and how much each may send.
#pragma once

#include "actors/core/logs/credit_window.hpp"
#include "messages/ids.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace actorrun::core {

/// An agent may send so many bytes more for a reading.
struct credit_grant {
  agent_id agent;
  uint32_t size = 0; ///< Not 0.

  friend bool operator==(const credit_grant&, const credit_grant&) = default;
};

/// The coordinator's side of all readings. One reading is for one operator, and
/// each agent has a share of its window. Lines reach the operator in the order in
/// which they have come, so its credit belongs to those who sent first.
class log_fanout {
public:
  /// At most this many readings of one job.
  static constexpr size_t reading_count_max = 16;

  /// At most this many agents read for one operator.
  static constexpr size_t agent_count_max = 256;

  /// In bytes, of one agent. The least is such that an agent that is owed less
  /// than a quarter of it can send the longest line.
  static constexpr uint32_t share_min = 24 * 1024;
  static constexpr uint32_t share_max = 64 * 1024;

  /// Begins a reading.
  /// @param agents  Those that read, the first `agent_count_max` of them.
  /// @param window  In bytes, for all agents; each gets `share_min` at least.
  /// @param follows It goes on when all agents are lost.
  /// @returns its number; none: there are too many
  std::optional<uint64_t> begin(const std::set<agent_id>& agents,
                                uint32_t window, bool follows);

  /// What each agent of a reading may send at first. @pre the reading is known
  uint32_t share_of(uint64_t reading) const;

  /// An agent reads, too, from now on.
  /// @returns false: it does already, or there is no room
  bool add(uint64_t reading, const agent_id& agent);

  /// An agent has sent lines.
  /// @returns false: they do not count; the reading is over, the agent does not
  ///          read for it or sends more than it may
  bool sent(uint64_t reading, const agent_id& agent, size_t cost);

  /// The operator has taken lines of so many bytes in all.
  /// @returns what agents are to be told; little is kept until it is more
  std::vector<credit_grant> taken(uint64_t reading, uint64_t size);

  /// An agent has sent all.
  /// @returns true: nothing follows, from no agent; the reading is forgotten
  bool ended(uint64_t reading, const agent_id& agent);

  /// The same for an agent that is lost. A reading that follows waits for others.
  bool lost(uint64_t reading, const agent_id& agent);

  /// The operator is gone, or wants no more.
  /// @returns those that still read; the reading is forgotten
  std::set<agent_id> end(uint64_t reading);

  /// The readings that an agent still reads for.
  std::vector<uint64_t> readings_of(const agent_id& agent) const;

  bool knows(uint64_t reading) const { return readings_.contains(reading); }
  size_t size() const { return readings_.size(); }

private:
  struct participant {
    credit_window window;
    uint32_t owed = 0; ///< Taken by the operator, and not told.
  };

  struct delivery {
    agent_id agent;
    uint64_t cost = 0;
  };

  struct entry {
    uint32_t share = 0;
    bool follows = false;
    std::map<agent_id, participant> parts{}; ///< Those that still read.
    std::deque<delivery> deliveries{};       ///< On their way to the operator.
  };

  std::map<uint64_t, entry> readings_{};
  uint64_t last_reading_ = 0;
};

} // namespace actorrun::core
