// Schedules faults by kind and frequency.
#pragma once

#include "tests/sim/cluster.hpp"

namespace actorrun::sim {

/// Schedules the faults of the cluster's scenario. A new kind of fault needs a
/// function and a line in the table of faults.cpp.
void plan_faults(cluster& all);

} // namespace actorrun::sim
