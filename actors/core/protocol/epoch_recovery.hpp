// Recovers the epoch of an earlier coordinator from the claims of its agents.
#pragma once

#include "actors/core/protocol/agent_table.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace actorrun::core {

/// What a new coordinator knows of the epochs that it has not formed itself,
/// until it has an epoch of its own.
///
/// The newest epoch that an agent claims is the one that may go on; all older
/// ones are over. It goes on if all its agents come back while their workers
/// run. An agent may lie, so what all agents of an epoch say outweighs what some of
/// another one do; an epoch with fewer nodes than the job has at the least is none of
/// its; and no workers are stopped for the word of one before the listening ends.
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
    /// False: no agent of an epoch that can go on was back. Then all but `stale` is
    /// empty.
    bool has_epoch = false;
    std::vector<stale_workers> stale;
    uint32_t member_count = 0; ///< Of its agents that are back.
    uint32_t stopped_count
      = 0; ///< Members that run no workers of it, or leave.
    /// All that are back have succeeded: the others may have, too, and then the job
    /// has.
    bool is_done = false;
    /// Workers of an agent run in another epoch: then this one is over, or was none.
    bool is_contradicted = false;
  };

  /// Waits for claims before an epoch is formed.
  /// @param unseen Up to it there may be epochs that no agent knows of.
  void listen(epoch_id unseen);

  /// There can have been no epoch before this coordinator's.
  void close() { is_open_ = false; }

  bool is_listening() const { return is_listening_; }

  /// True until this coordinator has formed or adopted an epoch.
  bool is_open() const { return is_open_; }

  /// An epoch of this number has existed, or may have.
  void see(epoch_id epoch) { floor_ = std::max(floor_, epoch); }

  /// The highest number that is known to have been given.
  epoch_id highest_seen() const { return std::max(floor_, unseen_); }

  /// Numbers the next epoch: above all that have been seen. Ends the recovery.
  epoch_id number_epoch(epoch_id newest);

  /// Takes over what an agent says it holds.
  /// @param node_count_min Of an epoch of this job.
  /// @pre `is_open()`; `is_listening()` or `held.plan.epoch >= agents.epoch()`
  progress take(agent_table& agents, agent_record& record, const claim& held,
                uint32_t node_count_min);

  /// The agent has nothing of an epoch any more.
  void forget(const agent_id& agent) { plans_.erase(agent); }

  /// Ends the listening. Ends the recovery, too, if there is an epoch.
  findings conclude(const agent_table& agents);

private:
  bool is_whole(const agent_table& agents, const epoch_plan& plan) const;
  bool outweighs(const agent_table& agents, const epoch_plan& plan,
                 bool runs) const;
  void adopt(agent_table& agents, const epoch_plan& plan) const;

  bool is_listening_ = false;
  bool is_open_ = true;
  std::map<agent_id, epoch_plan>
    plans_;         ///< That were claimed, till it is over.
  epoch_id floor_;  ///< The newest epoch that any agent has seen.
  epoch_id unseen_; ///< The newest that there can be and no agent has seen.
};

/// True if workers of a share in this state may still run.
bool may_run(share_state x);

} // namespace actorrun::core
