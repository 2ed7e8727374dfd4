// Registers the types of all messages of our actors with CAF.
#pragma once

#include <caf/fwd.hpp>

namespace actorrun {

/// Makes the types of our messages, also of those that stay in the process, known to
/// actor systems that are built from `config`. CAF 1 has one table for all systems of
/// a process: call it before the first of them is constructed.
void register_message_types(caf::actor_system_config& config);

} // namespace actorrun
