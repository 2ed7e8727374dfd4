// Owns the worker supervisor of one group that `start_processes` has started:
// all or nothing, once.
#pragma once

#include "actors/interfaces.hpp"
#include "actors/worker_supervisor.hpp"
#include "runtime/process_group/process_tracker.hpp"

#include <chrono>
#include <functional>

namespace actorrun {

/// End the group, or end it sooner.
struct close_group {
  int signal = 0;
  std::chrono::milliseconds timeout{0}; ///< Until SIGKILL; 0: at once.
};

/// The time-out of a `close_group` has passed.
struct close_expired {};

/// The PROCESS OWNER stops a group when one of its workers has failed, or on
/// request.
using process_owner_actor = interface<
  // The events of the group.
  void(group_event),
  // The process context closes the group.
  void(close_group),
  // From itself: the timeout has passed.
  void(close_expired)>;

struct process_owner_config {
  worker_supervisor_config supervisor;
  core::epoch_plan plan;
  /// Called once, on a thread of the actor system: nothing runs any more.
  std::function<void(detail::group_ending)> on_ended;
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
  detail::group_ending ending_;
};

process_owner_actor spawn_process_owner(caf::actor_system& system,
                                        process_owner_config config);

} // namespace actorrun

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(actorrun::close_group)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(actorrun::close_expired)
