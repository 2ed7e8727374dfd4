// Runs the commands of actorctl that look at workers: logs and stacks.
#pragma once

#include "cli/actorctl_arguments.hpp"

#include "messages/operator.pb.h"

namespace actorrun::cli {

/// What a command asks a job for; `since` counts from now.
v1::ReadLogs request_of(const logs_arguments& arguments);

/// Prints lines of workers' log files.
/// @returns the exit code: 1: the job has no such worker or node; 3: no answer comes
int show_logs(const logs_arguments& arguments);

/// Prints where workers are.
/// @returns the same
int show_stacks(const stacks_arguments& arguments);

} // namespace actorrun::cli
