// Checks a node: runs core::node_checks over the check_runner port.
#pragma once

#include "actors/core/checks/node_checks.hpp"
#include "actors/interfaces.hpp"
#include "actors/log.hpp"
#include "actors/ports/check_runner.hpp"

#include <memory>

namespace actorrun {

struct node_checker_config {
  core::node_checks_options options;
  std::shared_ptr<ports::check_runner> runner;
  log lines;
};

/// Tells the agent whenever the node has become fit or unfit.
node_checker_actor spawn_node_checker(caf::actor_system& system,
                                      node_checker_config config,
                                      const node_agent_actor& agent);

} // namespace actorrun
