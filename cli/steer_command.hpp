// Runs the commands that change what a job does: arguments in, exit code out.
#pragma once

#include "cli/actorctl_arguments.hpp"
#include "runtime/steer.hpp"

namespace actorrun::cli {

/// Asks the job. Blocks for 12 s at most.
/// @retval as `steer`, and as `find_local_job`
result<steering_answer> ask_job(const steer_arguments& arguments);

/// Asks the job, and prints what it has done or why not. On a terminal it asks the
/// operator before, if work is lost.
/// @returns 0: it was done; 1: it was refused; 9: the operator does not want it;
/// otherwise as `exit_code_of`
int steer_job(const steer_arguments& arguments);

} // namespace actorrun::cli
