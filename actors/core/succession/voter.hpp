// Keeps what one agent has promised, which charter it has, and who is proved dead.
#pragma once

#include "actors/core/succession/succession_messages.hpp"

#include <map>
#include <set>

namespace actorrun::core {

/// So many proofs are remembered before those that say nothing of the newest charter's
/// agents are forgotten: what is proved twice is proved, too.
inline constexpr size_t proofs_max = 32;

/// Votes once per term. A promise binds for a while from a beat or a vote, against
/// all but its holder. It ends earlier with proof that the holder leads no more.
class voter {
public:
  voter(agent_id self, duration promise)
    : self_(std::move(self)), promise_(promise) {}

  const agent_id& self() const { return self_; }

  /// The highest in which it has voted, or heard a leader.
  uint64_t term() const { return term_; }

  const std::optional<written_charter>& charter() const { return charter_; }

  /// Of the last beat; the leader may be gone.
  const agent_id& leader() const { return leader_; }

  /// When its promise lapses.
  time_point bound_until() const { return until_; }

  /// What its machine would say if it ended now.
  tombstone own_tombstone() const { return {term_, holder_, charter_}; }

  // -- promises -------------------------------------------------------------------

  /// @returns whether the beat counts
  bool hear(const agent_id& who, const beat& x, time_point now);

  /// Whether its promise allows it.
  bool may_vote_for(const agent_id& who, const std::vector<ended_leader>& ended,
                    time_point now) const;

  /// @pre `term > this->term()` and `may_vote_for` it
  vote vote_for(const agent_id& who, uint64_t term, time_point sent,
                time_point now);

  /// For how long it has supported none but this one.
  duration silence(const agent_id& who, time_point now) const;

  /// As the leader it hears itself.
  void hear_itself(time_point now);

  /// @pre its key is higher than that of the charter so far
  void write(written_charter x) { charter_ = std::move(x); }

  // -- proofs ---------------------------------------------------------------------

  void believe(const agent_id& who, uint64_t resigned_from);
  void learn(const agent_id& who, const tombstone& of, time_point now);

  bool is_proved_dead(const agent_id& who) const { return dead_.contains(who); }

  /// What convinces other voters.
  std::vector<ended_leader> proofs() const;

  /// @returns the newest charter that it has, or that a dead process has left
  const written_charter* newest_charter() const;

  /// The dead vote for one candidate only: for the first in the order that is not
  /// proved dead, if the leader is.
  /// @param term The candidate's: a dead voter may have voted in this one already.
  /// @returns who votes for this agent so; empty: it is not that one
  std::set<agent_id> dead_supporters(const written_charter& by, uint64_t term,
                                     time_point now) const;

  /// The highest in which one of these has voted.
  uint64_t term_of(const std::set<agent_id>& gone) const;

  /// Those before this agent in the order that are not proved dead.
  size_t living_before(const written_charter& by) const;

private:
  struct dead_process {
    tombstone left;
    time_point learned_at;
  };

  bool is_holder(const ended_leader& x) const;
  void make_room();
  bool is_free(const agent_id& who, const dead_process& x,
               time_point now) const;
  void promise(const agent_id& who, uint64_t term, time_point now);

  agent_id self_;
  duration promise_;
  uint64_t term_ = 0;
  std::optional<written_charter> charter_;
  agent_id leader_;
  uint64_t leader_term_ = 0;
  // The promise.
  agent_id holder_;
  uint64_t holder_term_ = 0;
  time_point until_{};
  // What may have confirmed a leader.
  time_point supported_at_{}; ///< Its last beat or vote …
  /// … and the last but for votes for `holder_`, who knows whether they made it lead.
  time_point others_at_{};
  std::map<agent_id, dead_process> dead_;
  std::map<agent_id, uint64_t>
    resigned_; ///< From this term, and from all before.
};

} // namespace actorrun::core
