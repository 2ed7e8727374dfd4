// Configures the actor systems of our own programs.
#pragma once

#include "runtime/options.hpp"

#include <caf/actor_system_config.hpp>

namespace actorrun {

/// Where actors run.
enum class actor_place {
  threads, ///< On two threads of CAF's.
  reactor, ///< On the launcher's reactor, which is then not woken up by them.
};

/// Where they run in a program that starts this node: a coordinator of many nodes has
/// much to do at times, an agent has not.
/// @param job What is known of it afterwards is filled in: whether the coordinator is
///            elsewhere.
actor_place place_of_actors(job_options& job, const agent_options& agent);

/// The configuration of our own programs. Reads no file, no command line and no
/// environment.
class system_config : public caf::actor_system_config {
public:
  explicit system_config(actor_place where = actor_place::threads);
};

} // namespace actorrun
