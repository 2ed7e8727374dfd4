// Translates what the agents that elect a coordinator say to each other. What comes in
// has gone through the hands of a peer: what no honest one writes is refused here.
#pragma once

#include "actors/core/succession/succession_messages.hpp"
#include "messages/result.hpp"

#include "messages/succession.pb.h"

namespace actorrun {

/// More proofs than this are not told: the newest are left out.
inline constexpr size_t told_proofs_max = 16;

v1::VoterMessage to_wire(const core::succession_message& x);
v1::Tombstone to_wire(const core::tombstone& x);

/// @retval errc::not_actorrun  it says nothing that we know, or what cannot be:
///         the text is a verb and its object, as `sends a charter without voters`
result<core::succession_message> from_wire(const v1::VoterMessage& x);
result<core::tombstone> from_wire(const v1::Tombstone& x);

} // namespace actorrun
