// One seed, from the first event to the verdict.
#pragma once

#include "tests/sim/cluster.hpp"

namespace actorrun::sim {

/// @returns the invariant that was broken, if one was. If an assertion of the
///          core fails, the program ends and says which seed it was.
std::optional<std::string> run_seed(const scenario& plan, history::mode how);

/// The last lines of the history that ends in the breach.
std::string trace_of(const scenario& plan);

} // namespace actorrun::sim
