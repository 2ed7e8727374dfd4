// Starts, watches and stops one node's workers: runs core::worker_group over
// the process_host port.
#pragma once

#include "actorrun/actors/core/worker_environment.hpp"
#include "actorrun/actors/core/worker_group.hpp"
#include "actorrun/actors/core/worker_spec.hpp"
#include "actorrun/actors/interfaces.hpp"
#include "actorrun/actors/log.hpp"
#include "actorrun/actors/ports/master_ports.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace actorrun {

struct worker_supervisor_config {
  core::worker_spec workers;
  core::job_environment job;
  std::vector<std::string> environment; ///< What every worker inherits.
  std::string host;                     ///< Named in failures.
  std::shared_ptr<ports::process_host> processes;
  std::shared_ptr<ports::master_ports> ports;
  log lines;
};

class worker_supervisor_state {
public:
  static constexpr const char* name = "worker-supervisor";

  /// @param agent Is told what becomes of the group. It owns this actor.
  worker_supervisor_state(worker_supervisor_actor::pointer self,
                          worker_supervisor_config config,
                          node_agent_actor agent);

  worker_supervisor_actor::behavior_type make_behavior();
  void on_exit();

private:
  struct effect_runner;

  void obey(const core::start_group& order);
  void obey(const core::stop_group& order);
  void obey(const core::kill_group& order);
  void obey(const core::set_fence& order);
  void take(const ports::process_event& event);
  void dispatch(const core::worker_group_event& event);
  std::vector<ports::process_spec> processes() const;

  worker_supervisor_actor::pointer self_;
  worker_supervisor_config config_;
  node_agent_actor agent_;
  std::optional<core::worker_group> group_;
};

/// Starts the actor; it ends with `kill` or when its agent drops it.
worker_supervisor_actor spawn_worker_supervisor(caf::actor_system& system,
                                                worker_supervisor_config config,
                                                node_agent_actor agent);

} // namespace actorrun
