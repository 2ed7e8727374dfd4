// Adds to the vitals of workers what they last asked of the timer server.
#pragma once

#include "actors/core/timers/table.hpp"
#include "actors/core/vitals/node_vitals.hpp"

#include <vector>

namespace actorrun {

/// @param now When the vitals were sampled.
void add_timers(core::node_vitals& out,
                const std::vector<core::last_request>& timers,
                core::time_point now);

} // namespace actorrun
