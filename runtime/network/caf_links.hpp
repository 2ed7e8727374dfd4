// Passes links to CAF.
#pragma once

#include "actors/core/time.hpp"
#include "messages/result.hpp"
#include "runtime/network/link_pipe.hpp"

#include <caf/actor_control_block.hpp>
#include <caf/fwd.hpp>

#include <functional>
#include <string>

namespace actorrun::detail {

/// The name of an actor system as the frames of the wire have it, of
/// `node_name_size` bytes.
std::string node_name(caf::actor_system& system);

/// Runs CAF's protocol on a link whose other side has called `attach`, and offers it
/// `actor`. Thread-safe.
void serve(caf::actor_system& system, pipe_end link,
           const caf::strong_actor_ptr& actor);

/// Runs CAF's protocol on a link whose other side has called `serve`; passes on the
/// actor that is offered there, once, where the system's actors run.
/// @param limit Positive, finite.
/// @retval errc::connection_timed_out  no offer came in time
/// @retval errc::not_actorrun          the other side offers no actor
void attach(caf::actor_system& system, pipe_end link, core::duration limit,
            std::function<void(result<caf::strong_actor_ptr>)> on_actor);

} // namespace actorrun::detail
