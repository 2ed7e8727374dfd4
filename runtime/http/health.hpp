// Says whether a node does its part, from what its agent answers.
#pragma once

#include "runtime/http/status_source.hpp"

#include <string>

namespace actorrun::detail {

struct health {
  bool is_good = false;
  std::string text; ///< One line for people.
};

/// Whether the actor answers.
health health_of(const status_answer& x);

/// Whether the workers of the node run.
/// @param own What the agent says of its own node.
health readiness_of_node(const status_answer& own);

/// Whether the workers of the job run, for a coordinator without an agent.
health readiness_of_job(const status_answer& x);

} // namespace actorrun::detail
