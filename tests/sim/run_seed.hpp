// Runs one seed, from the first event to the verdict.
#pragma once

#include "tests/sim/cluster.hpp"

namespace actorrun::sim {

/// @returns the broken invariant, if there is one. If an assertion of the core
///          fails, the program ends and prints the seed.
std::optional<std::string> run_seed(const scenario& plan, history::mode how);

/// The last lines of the history before the breach.
std::string trace_of(const scenario& plan);

} // namespace actorrun::sim
