// Owns the worker supervisor of one group that `start_processes` has started:
// all or nothing, once.
#pragma once

#include "actors/interfaces.hpp"
#include "actors/worker_supervisor.hpp"

#include <cstdint>
#include <functional>
#include <vector>

namespace actorrun {

/// How a group ended.
struct group_ending {
  bool was_closed = false; ///< By order, before it had failed or succeeded.
  /// The one that came first in front.
  std::vector<core::worker_failure> failures{};
  uint32_t unlisted_failure_count = 0; ///< More of them.
};

struct process_owner_config {
  worker_supervisor_config supervisor;
  core::generation_plan plan;
  /// Called once, on a thread of the actor system: nothing runs any more.
  std::function<void(group_ending)> on_ended;
};

class process_owner_state {
public:
  static constexpr const char* name = "process-owner";

  process_owner_state(process_owner_actor::pointer self,
                      process_owner_config config);

  process_owner_actor::behavior_type make_behavior();
  void on_exit();

private:
  void on(const group_event& event);
  void fail(core::worker_failure failure);
  void end(core::collateral others);
  void close(const close_group& order);
  void tell_supervisor(group_order order);

  process_owner_actor::pointer self_;
  process_owner_config config_;
  worker_supervisor_actor supervisor_;
  group_ending ending_;
};

process_owner_actor spawn_process_owner(caf::actor_system& system,
                                        process_owner_config config);

} // namespace actorrun
