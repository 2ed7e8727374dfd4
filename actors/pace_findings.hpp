// Turns what agents have seen of the pace and the saves of their workers into messages
// and back.
#pragma once

#include "actors/core/stragglers/node_pace.hpp"
#include "actors/core/stragglers/node_saves.hpp"
#include "actors/core/vitals/node_vitals.hpp"

#include "messages/rendezvous.pb.h"

#include <cstdint>
#include <functional>
#include <optional>

namespace actorrun {

/// Without the agent's id.
v1::WorkerPaces to_wire(const core::pace_report& x);

/// At most `core::slots_per_agent_max` workers; no time is longer than a week.
core::pace_report from_wire(const v1::WorkerPaces& x);

/// Without the agent's id.
v1::WorkersSaved to_wire(const core::saves_report& x);

/// No time is longer than 50 years.
core::saves_report from_wire(const v1::WorkersSaved& x);

/// @param of By local rank.
void add_steps(
  core::node_vitals& out,
  const std::function<std::optional<core::worker_steps>(uint32_t)>& of);

} // namespace actorrun
