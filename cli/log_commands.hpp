// Runs the commands of actorctl that look at workers: logs and stacks.
#pragma once

#include "cli/actorctl_arguments.hpp"

namespace actorrun::cli {

/// Prints lines of workers' log files.
/// @returns the exit code: 1: the job has no such worker or node; 3: no answer comes
int show_logs(const logs_arguments& arguments);

/// Prints where workers are.
/// @returns the same
int show_stacks(const stacks_arguments& arguments);

} // namespace actorrun::cli
