// Judges what a coordinator makes of what it is told of the job: by agents, by what
// its predecessor has left, and by its operators.
#pragma once

#include "tests/sim/invariants.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace actorrun::sim {

class succession {
public:
  /// @param lease What this coordinator grants.
  succession(core::duration lease, invariants& checks)
    : own_lease_(lease), known_lease_(lease), lease_in_force_(lease),
      checks_(checks) {}

  /// @param in_force The longest lease that any agent may have, whoever knows it.
  void begin(const core::coordinator_started& beginning,
             core::duration in_force, core::time_point now);

  /// Before each step.
  void before(const core::rendezvous& brain, core::time_point now);

  /// An agent was accepted that has heard this of the job, of whichever
  /// coordinator.
  void joined(const agent_id& agent, const core::charter& heard);

  /// All that may have workers may be here before a lease has passed.
  void account() { is_accounted_ = true; }

  /// A generation forms that is new.
  void formed(core::time_point now);

  /// After each step.
  void after(const core::rendezvous& brain, const core::rendezvous_event& event,
             const std::vector<core::rendezvous_effect>& effects);

  core::duration lease_in_force() const { return lease_in_force_; }

private:
  void note_order(const core::rendezvous_event& event,
                  const std::vector<core::rendezvous_effect>& effects);
  void find_agreement();
  bool is_size_ordered(const core::job_settings& x) const;
  void check_orders(const core::rendezvous& brain) const;
  bool may_exclude(const std::string& host) const;

  core::duration own_lease_;
  core::duration known_lease_;    ///< The longest that it was told of.
  core::duration lease_in_force_; ///< The longest that there may be.
  invariants& checks_;
  bool is_successor_ = false;
  bool is_accounted_ = false;
  bool is_proved_ = false; ///< What was left: agents know no more.
  core::time_point began_{};
  bool listens_ = false; ///< What agents tell it counts.
  /// What was told it by agents, and by its predecessor (no name).
  std::map<agent_id, core::charter> told_;
  std::set<std::string> left_excluded_; ///< Hosts; by its predecessor.
  std::set<uint32_t> found_; ///< Numbers of nodes that agents claim to be of.
  /// The newest that two say the same of.
  std::optional<core::charter> agreed_;
  std::set<std::string> told_excluded_; ///< Hosts, by both.
  std::set<std::string> told_by_one_;   ///< By one of them at least.
  // Its own operators' orders.
  std::optional<core::resize_requested> size_;
  std::set<std::string> excluded_;
  std::set<std::string> included_;
};

} // namespace actorrun::sim
