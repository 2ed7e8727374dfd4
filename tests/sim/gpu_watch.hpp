// Judges what a coordinator makes of nodes whose GPUs fail.
#pragma once

#include "tests/sim/invariants.hpp"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace actorrun::sim {

/// Looks at a coordinator after each of its steps.
class gpu_watch {
public:
  gpu_watch(core::gpu_fault_action what_follows, invariants& checks)
    : action_(what_follows), checks_(checks) {}

  void after(const core::rendezvous& brain, const core::rendezvous_event& event,
             const std::vector<core::rendezvous_effect>& effects);

private:
  void see_drain(const core::rendezvous& brain, const agent_id& agent);
  void see_exclusion(const core::rendezvous& brain, const std::string& host);
  bool should_go(const core::rendezvous& brain,
                 const core::agent_record& x) const;

  core::gpu_fault_action action_;
  invariants& checks_;
  int64_t spare_count_ = 0;
  std::set<agent_id> handled_; ///< It was acted upon, for what their GPUs have.
  std::set<agent_id> overdue_; ///< They should have gone in the step before.
};

} // namespace actorrun::sim
