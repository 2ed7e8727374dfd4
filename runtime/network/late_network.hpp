// Starts CAF's network module when the first connection is to be linked to an
// actor.
#pragma once

#include <caf/actor_system_config.hpp>
#include <caf/fwd.hpp>

namespace caf::io {
class middleman;
}

namespace actorrun::detail {

/// Gives the system CAF's network module, but the two threads of that and its
/// descriptors only with the first call of `network_of`.
void load_network_late(caf::actor_system_config& config);

/// The network module of `system`, started. Callable from any thread.
/// @pre it has one; see `configure`
caf::io::middleman& network_of(caf::actor_system& system);

} // namespace actorrun::detail
