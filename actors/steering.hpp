// Translates what operators ask of a job into events of its rendezvous.
#pragma once

#include "actors/core/protocol/rendezvous_events.hpp"

#include "messages/operator.pb.h"

#include <chrono>
#include <string>

namespace actorrun {

/// Whether a request changes what the job does; others only look.
bool is_steering(const v1::OperatorRequest& x);

/// The event of a request. Its texts are cut to one printable line each.
/// @param by Who asks.
/// @pre `is_steering(x)`, and it is no ElectLeader: agents that vote take that
core::rendezvous_event steering_event(const v1::OperatorRequest& x,
                                      const std::string& by);

} // namespace actorrun
