// How an actor system of ours is set up.
#pragma once

#include <caf/actor_system_config.hpp>

namespace actorrun::detail {

/// Reads no file, no command line and no environment.
class system_config : public caf::actor_system_config {
public:
  system_config();
};

} // namespace actorrun::detail
