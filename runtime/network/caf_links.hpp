// Hands authenticated connections to CAF. With system_config the one place that
// touches CAF's insides (caf.md 5).
#pragma once

#include "actors/core/time.hpp"
#include "messages/result.hpp"
#include "runtime/os/unique_fd.hpp"

#include <caf/actor_control_block.hpp>
#include <caf/fwd.hpp>

#include <functional>

namespace actorrun::detail {

/// Shuts off what lets strangers spawn actors and write to a store in ours.
void harden(caf::actor_system& system);

/// Speaks CAF on a connection whose other side has called `attach`, and offers
/// it `actor` first of all. Thread-safe.
void serve(caf::actor_system& system, unique_fd connection,
           const caf::strong_actor_ptr& actor);

/// Speaks CAF on a connection whose other side has called `serve`; gives the
/// actor that is offered there, once, on a scheduler thread.
/// @param limit Positive, finite.
/// @retval errc::connection_timed_out  nothing came in time
/// @retval errc::not_actorrun          something else came
void attach(caf::actor_system& system, unique_fd connection,
            core::duration limit,
            std::function<void(result<caf::strong_actor_ptr>)> on_actor);

} // namespace actorrun::detail
