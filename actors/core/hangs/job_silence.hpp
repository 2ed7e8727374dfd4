// Decides for a coordinator whether its job hangs.
#pragma once

#include "actors/core/hangs/node_silence.hpp"
#include "actors/core/time.hpp"
#include "messages/ids.hpp"

#include <map>
#include <optional>
#include <vector>

namespace actorrun::core {

/// No worker of the job has shown a sign of life for longer than its limit.
struct job_hang {
  generation_id generation;
  duration silent_for{0}; ///< Since the last sign of any of them.
  duration limit{0};      ///< The longest that a node has.
  agent_id first{};       ///< The node that fell silent first.
  bool ends
    = false; ///< The worker that hangs is to be ended: all nodes want it.

  friend bool operator==(const job_hang&, const job_hang&) = default;
};

/// One node that is heard, or one that does not watch its workers, is enough: the
/// job does not hang.
class job_silence {
public:
  void note(const agent_id& agent, const silence_report& x, time_point now);

  /// The agent has left, or was lost.
  void forget(const agent_id& agent) { silent_.erase(agent); }

  /// Whether a generation hangs.
  /// @param members Of the generation that runs: those with workers.
  /// @returns each hang once, until one of them is heard
  std::optional<job_hang> find(generation_id running,
                               const std::vector<agent_id>& members,
                               time_point now);

  /// The generation that was found to hang, as long as it does; 0: none does.
  generation_id hung() const { return hung_; }

private:
  struct entry {
    silence_report said;
    time_point since{}; ///< Of its last sign.
  };

  std::map<agent_id, entry> silent_; ///< Those that are.
  generation_id hung_{};
};

} // namespace actorrun::core
