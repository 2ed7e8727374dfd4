// Recovers the generation of an earlier coordinator from the claims of its agents.
#pragma once

#include "actors/core/protocol/agent_table.hpp"
#include "actors/core/protocol/rendezvous_events.hpp"
#include "actors/core/time.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace actorrun::core {

/// What a new coordinator knows of the generations that it has not formed itself,
/// until it has a generation of its own.
///
/// The newest generation that an agent claims is the one that may go on; all older
/// ones are over. It goes on if all its agents come back while their workers
/// run. An agent may lie, so what all agents of a generation say outweighs what
/// some of another one do; a generation with fewer nodes than the job has at the
/// least is none of its; and no workers are stopped for the word of one before the
/// listening ends.
class generation_recovery {
public:
  /// What a claim has led to.
  struct progress {
    bool has_begun = false; ///< The coordinator must listen for a lease.
    bool is_newer = false;  ///< What was known belongs to an older generation.
    bool is_complete = false; ///< All agents of the generation are back.
    /// Of the generation that may go on. It counts even if the agent leaves.
    std::optional<worker_failure> failure;
  };

  /// Workers of a generation that is over, which must stop.
  struct stale_workers {
    agent_id agent;
    generation_id generation;
  };

  /// What was found when listening ended.
  struct findings {
    /// False: no agent of a generation that can go on was back. Then all but
    /// `stale` is empty.
    bool has_generation = false;
    std::vector<stale_workers> stale;
    uint32_t member_count = 0; ///< Of its agents that are back.
    uint32_t stopped_count
      = 0; ///< Members that run no workers of it, or leave.
    /// All that are back have succeeded: the others may have, too, and then the job
    /// has.
    bool is_done = false;
    /// Workers of an agent run in another generation: then this one is over, or was
    /// none.
    bool is_contradicted = false;
    /// All that are missing: this one.
    std::optional<member_ended> ended{};
  };

  /// Waits for claims before a generation is formed.
  /// @param unseen Up to it there may be generations that no agent knows of.
  /// @param since  No other coordinator has granted a lease after that.
  void listen(generation_id unseen, time_point since);

  /// There can have been no generation before this coordinator's.
  void close(time_point now);

  bool is_listening() const { return is_listening_; }

  /// True until this coordinator has formed or adopted a generation.
  bool is_open() const { return is_open_; }

  /// Agents may be heard that know more of the job.
  bool is_learning(time_point now) const {
    return is_open_ || now < hold_back_end_;
  }

  /// No generation may be formed.
  bool holds_back(time_point now) const {
    return is_listening_ || now < hold_back_end_;
  }

  /// No new generation before: agents that were not heard of may have workers.
  time_point hold_back_end() const { return hold_back_end_; }

  /// @param end What is earlier than known, or over, changes nothing.
  /// @returns whether it holds back for longer now
  bool hold_back_until(time_point end, time_point now);

  /// Agents that none has heard of may have had so long a lease: it counts from when
  /// another coordinator may have granted one.
  /// @returns as above
  bool know_lease(duration lease, time_point now) {
    return hold_back_until(granted_until_ + lease, now);
  }

  /// Workers of an agent are claimed though there can be none. They cannot be of
  /// this job; but whoever has removed what proves that may be wrong.
  bool is_claim_odd(generation_id newest) const {
    return !is_open_ && newest.value == 0 && hold_back_end_ == time_point{};
  }

  /// It cannot be of this job, which begins here.
  bool is_of_another_job(generation_id x) const {
    return is_first_ && (first_named_ == generation_id{} || x < first_named_);
  }

  /// This generation has existed, or may have.
  void see(generation_id generation) { floor_ = later(floor_, generation); }

  /// No lower term, and no lower number, is known to have been given.
  generation_id highest_seen() const { return later(floor_, unseen_); }

  /// Names the next generation: above all that have been seen, in its term and in
  /// its number. Ends the recovery.
  generation_id name_generation(generation_id newest);

  /// Takes over what an agent says it holds.
  /// @param node_count_min Of a generation of this job.
  /// @pre `is_open()`; `is_listening()` or `held.plan.generation >=
  /// agents.generation()`
  progress take(agent_table& agents, agent_record& record, const claim& held,
                uint32_t node_count_min);

  /// One agent of a generation has ended with its workers, and is not waited for.
  /// @returns whether all others are back
  bool account_for(const agent_table& agents, const member_ended& x);

  /// All agents of the newest generation are accounted for.
  void end_hold_back(time_point now) {
    hold_back_end_ = std::min(hold_back_end_, now);
  }

  /// The agent has nothing of a generation any more.
  void forget(const agent_id& agent) { plans_.erase(agent); }

  /// Ends the listening. Ends the recovery, too, if there is a generation.
  findings conclude(const agent_table& agents);

private:
  bool are_all_back(const agent_table& agents) const;
  bool is_whole(const agent_table& agents, const generation_plan& plan) const;
  bool outweighs(const agent_table& agents, const generation_plan& plan,
                 bool runs) const;
  void adopt(agent_table& agents, const generation_plan& plan) const;

  bool is_listening_ = false;
  bool is_open_ = true;
  bool is_first_ = false;     ///< There was no coordinator before.
  generation_id first_named_; ///< Here; 0: none was.
  time_point granted_until_{};
  time_point hold_back_end_{};
  std::map<agent_id, generation_plan>
    plans_;             ///< That were claimed, till it is over.
  generation_id floor_; ///< Of all that any agent has seen.
  std::optional<member_ended> ended_;
  generation_id unseen_; ///< Of those that there can be and no agent has seen.
};

/// True if workers of a share in this state may still run.
bool may_run(share_state x);

} // namespace actorrun::core
