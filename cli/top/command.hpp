// Runs `actorctl top`: arguments in, exit code out.
#pragma once

#include "cli/actorctl_arguments.hpp"

namespace actorrun::cli::top {

/// Shows jobs until the operator quits. Without a terminal: exit code 2.
int run(const top_arguments& arguments);

} // namespace actorrun::cli::top
