// How an actor system of ours is set up.
#pragma once

#include <caf/actor_system_config.hpp>

namespace actorrun::detail {

/// Where actors run.
enum class actor_place {
  threads, ///< On two of CAF's.
  reactor, ///< On that of the launcher: see `loop_scheduler`.
};

/// Reads no file, no command line and no environment.
class system_config : public caf::actor_system_config {
public:
  explicit system_config(actor_place where = actor_place::threads);
};

} // namespace actorrun::detail
