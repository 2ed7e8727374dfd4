// PUBLIC: configures an actor system for launchers.
#pragma once

#include <caf/actor_system_config.hpp>

namespace actorrun {

/// Prepares a configuration for launchers: our message types and CAF's network
/// module. Call it before the actor system is constructed; with CAF 1, before the
/// first one of the process is.
void configure(caf::actor_system_config& config);

/// Where actors run.
enum class actor_place {
  threads, ///< On two threads of CAF's.
  reactor, ///< On the launcher's reactor, for a job of one node.
};

/// The configuration of our own programs. Reads no file, no command line and no
/// environment.
class system_config : public caf::actor_system_config {
public:
  explicit system_config(actor_place where = actor_place::threads);
};

} // namespace actorrun
