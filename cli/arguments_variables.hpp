// Environment variables that tell torchrun something and us nothing.
#pragma once

#include "actorrun/cli/arguments_surroundings.hpp"

#include <string>
#include <vector>

namespace actorrun::cli {

/// Adds a line for each such variable that is set and asks for something, with
/// what to use instead.
void warn_of_variables(const surroundings& world,
                       std::vector<std::string>& warnings);

} // namespace actorrun::cli
