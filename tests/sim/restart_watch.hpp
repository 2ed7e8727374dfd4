// Judges what a coordinator makes of its rules for restarts.
#pragma once

#include "tests/sim/invariants.hpp"

#include <optional>
#include <vector>

namespace actorrun::sim {

/// Looks at a coordinator after each of its steps, and counts itself which ends were
/// alike.
class restart_watch {
public:
  restart_watch(const core::restart_rules& rules, invariants& checks)
    : rules_(rules), checks_(checks) {}

  /// @param slack What timers may be off.
  void after(const core::rendezvous& brain, const core::rendezvous_event& event,
             const std::vector<core::rendezvous_effect>& effects,
             core::time_point now, core::duration slack);

private:
  void see_cost(const core::worker_failure& x, core::end_class what,
                core::time_point now);

  core::restart_rules rules_;
  invariants& checks_;
  bool was_stopping_ = false;
  uint32_t spent_ = 0;
  std::optional<core::worker_failure> last_;
  uint32_t alike_count_ = 0;
  core::time_point due_{}; ///< No generation may begin before.
};

} // namespace actorrun::sim
