// Checks the elections of one history against the truth, which no process knows.
#pragma once

#include "actors/core/succession/succession.hpp"
#include "tests/sim/drifting_clock.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace actorrun::sim {

/// What can be seen from outside of one process that votes.
struct voter_facts {
  agent_id id;
  drifting_clock clock{};
  bool is_alive = true;
  bool has_proof = false;            ///< Of its end.
  core::tombstone kept{};            ///< By its machine.
  core::charter_key written{};       ///< The last that was checked.
  core::time_point leadership_end{}; ///< As ordered, by its clock.
};

class succession_invariants {
public:
  /// @pre `x` outlives this
  void add(const voter_facts& x) { all_.push_back(&x); }

  /// S1: at most one leader is within its lease. Called after each step.
  void check_leaders(core::time_point now);

  /// A process has stored this, or has begun to write it.
  void know(const core::written_charter& x) { charters_[x.key] = x; }

  /// S2: nothing that a quorum keeps is missed by a later write. S3, the first half:
  /// a majority of each set of voters has it, or is dead.
  void check_write(const voter_facts& leader);

  /// S2: what a coordinator begins with, a quorum keeps under its own term.
  void check_open(const voter_facts& leader, core::charter_key written);

  /// S3, the second half: only what was written is announced, and numbers grow.
  void check_generation(const voter_facts& leader, uint64_t number);

  /// S4: one vote per term and process.
  void check_vote(const voter_facts& voter, uint64_t term,
                  const agent_id& candidate);

  /// An operator has given up what only the lost knew, but for numbers, which only grow.
  void accept_loss() { written_restarts_ = 0; }

  void report(const std::string& what);

  const std::optional<std::string>& breach() const { return breach_; }

  /// The newest charter that a quorum has kept.
  core::charter_key written() const { return written_; }
  uint64_t written_generation() const { return written_generation_; }
  uint64_t newest_generation() const { return newest_generation_; }

private:
  bool is_kept(const core::written_charter& x) const;

  std::vector<const voter_facts*> all_;
  std::optional<std::string> breach_; ///< The first.
  std::map<core::charter_key, core::written_charter> charters_;
  core::charter_key written_;
  uint64_t written_generation_ = 0;
  uint32_t written_restarts_ = 0;
  uint64_t newest_generation_ = 0;
  std::map<std::pair<agent_id, uint64_t>, agent_id> votes_;
};

} // namespace actorrun::sim
