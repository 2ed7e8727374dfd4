// Checks the elections of one history against the truth, which no process knows.
#pragma once

#include "tests/sim/succession_process.hpp"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace actorrun::sim {

class succession_invariants {
public:
  using processes = std::vector<std::shared_ptr<model_process>>;

  explicit succession_invariants(const processes& all) : all_(all) {}

  /// S1: at most one leader is within its lease. Called after each step.
  void check_leaders(core::time_point now);

  /// A process has stored this, or has begun to write it.
  void know(const core::written_charter& x) { charters_[x.key] = x; }

  /// S2: nothing that a quorum keeps is missed by a later write. S3, the first half:
  /// a majority of each set of voters has it, or is dead.
  void check_write(const model_process& leader);

  /// S2: what a coordinator begins with, a quorum keeps under its own term.
  void check_open(const model_process& leader);

  /// S3, the second half: only what was written is announced, and numbers grow.
  void check_generation(const model_process& leader, uint64_t number);

  /// S4: one vote per term and process.
  void check_vote(const model_process& voter, uint64_t term,
                  const agent_id& candidate);

  /// I2: workers of two generations never run at one time.
  void check_start(const model_process& agent, uint64_t generation);

  /// Rule 4: no lease outlasts the coordinator's last sign by more than this: one
  /// lease, in which a process that was paused may still send a beat, and the next.
  void check_sign(const model_process& leader, core::time_point due,
                  core::duration max);

  /// An operator has given up what only the lost knew, but for numbers, which only grow.
  void accept_loss() { written_restarts_ = 0; }

  void report(const std::string& what);

  const std::optional<std::string>& breach() const { return breach_; }

  /// The newest charter that a quorum has kept.
  core::charter_key written() const { return written_; }
  uint64_t newest_generation() const { return newest_generation_; }

private:
  bool is_kept(const core::written_charter& x) const;

  const processes& all_;
  std::optional<std::string> breach_; ///< The first.
  std::map<core::charter_key, core::written_charter> charters_;
  core::charter_key written_;
  uint64_t written_generation_ = 0;
  uint32_t written_restarts_ = 0;
  uint64_t newest_generation_ = 0;
  std::map<std::pair<uint32_t, uint64_t>, agent_id> votes_;
};

} // namespace actorrun::sim
