// Recovers the epoch of an earlier coordinator from the claims of its agents.
#pragma once

#include "actors/core/protocol/agent_table.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace actorrun::core {

/// What a new coordinator knows of the epochs that it has not formed itself,
/// until it has an epoch of its own.
///
/// The newest epoch that an agent claims is the one that may go on; all older
/// ones are over. It goes on if all its agents come back while their workers
/// run.
class epoch_recovery {
public:
  /// What a claim has led to.
  struct progress {
    bool has_begun = false;   ///< The coordinator must listen for a lease.
    bool is_newer = false;    ///< What was known belongs to an older epoch.
    bool is_complete = false; ///< All agents of the epoch are back.
    /// Of the epoch that may go on. It counts even if the agent leaves.
    std::optional<worker_failure> failure;
  };

  /// Workers of an epoch that is over, which must stop.
  struct stale_workers {
    agent_id agent;
    epoch_id epoch;
  };

  /// What was found when listening ended.
  struct findings {
    bool has_epoch = false; ///< False: no agent was back, the rest is empty.
    std::vector<stale_workers> stale;
    uint32_t member_count = 0; ///< Of its agents that are back.
    uint32_t stopped_count
      = 0; ///< Members that run no workers of it, or leave.
  };

  /// Waits for claims before an epoch is formed.
  /// @param unseen Up to it there may be epochs that no agent knows of.
  void listen(epoch_id unseen);

  bool is_listening() const { return is_listening_; }

  /// True until this coordinator has formed or adopted an epoch.
  bool is_open() const { return is_open_; }

  /// An epoch of this number has existed.
  void see(epoch_id epoch) { floor_ = std::max(floor_, epoch); }

  /// The highest number that is known to have been given.
  epoch_id highest_seen() const { return std::max(floor_, unseen_); }

  /// Numbers the next epoch: above all that have been seen. Ends the recovery.
  epoch_id number_epoch(epoch_id newest);

  /// Takes over what an agent says it holds.
  /// @pre `is_open()`, `held.plan.epoch >= agents.epoch()`
  progress take(agent_table& agents, agent_record& record, const claim& held);

  /// Ends the listening. Ends the recovery, too, if there is an epoch.
  findings conclude(const agent_table& agents);

private:
  bool is_listening_ = false;
  bool is_open_ = true;
  epoch_id floor_;  ///< The newest epoch that any agent has seen.
  epoch_id unseen_; ///< The newest that there can be and no agent has seen.
};

/// True if workers of a share in this state may still run.
bool may_run(share_state x);

} // namespace actorrun::core
