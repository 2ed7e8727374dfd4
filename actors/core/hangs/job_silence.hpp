// Decides for a coordinator whether its job hangs.
#pragma once

#include "actors/core/hangs/node_silence.hpp"
#include "actors/core/time.hpp"
#include "messages/ids.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace actorrun::core {

/// No worker of the job has shown a sign of life for longer than its limit.
struct job_hang {
  generation_id generation;
  time_point since{}; ///< The last sign of any of them.
  duration limit{0};  ///< The longest that a node has.
  agent_id first{};   ///< The node that fell silent first.
  bool ends
    = false; ///< The worker that hangs is to be ended: all nodes want it.
  uint64_t number = 0; ///< Of the finding, from 1.

  friend bool operator==(const job_hang&, const job_hang&) = default;
};

/// One node that is heard, one of which that is not known, or one that does not watch
/// its workers, is enough: the job does not hang.
class job_silence {
public:
  /// No node is silent.
  bool empty() const { return silent_.empty(); }

  void note(const agent_id& agent, const silence_report& x, time_point now);

  /// How it is with the agent is not known: it has left, or comes back.
  void forget(const agent_id& agent) { silent_.erase(agent); }

  /// Whether a generation hangs.
  /// @param running Its number; 0: none runs, or not as a whole.
  /// @param members All nodes on which its workers run.
  /// @returns each hang once, until one of them is heard; one that is to be ended
  ///          again and again, as long as it lasts
  std::optional<job_hang> find(generation_id running,
                               const std::vector<agent_id>& members,
                               time_point now);

  /// Nothing could follow from this finding: the next one may be the same.
  void give_up(const job_hang& x);

  /// Whether the job hangs still, as it was found.
  bool is_still(const job_hang& x) const { return found_ == x; }

  /// The generation that was found to hang, as long as it does; 0: none does.
  generation_id hung() const {
    return found_ ? found_->generation : generation_id{};
  }

private:
  struct entry {
    silence_report said;
    time_point since{}; ///< Of its last sign.
  };

  std::map<agent_id, entry> silent_; ///< Those that are.
  std::optional<job_hang> found_;
  generation_id asked_{}; ///< That was asked about last.
  time_point again_at_{}; ///< Nothing is found of it before that.
  uint64_t count_ = 0;
};

} // namespace actorrun::core
