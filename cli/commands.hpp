// Runs the commands of both programs: arguments in, exit code out.
#pragma once

#include "actors/core/epoch.hpp"
#include "cli/actorctl_arguments.hpp"
#include "cli/actorrun_arguments.hpp"

namespace actorrun::cli {

/// Takes part in a job with this node's workers until it ends.
int run(const run_arguments& arguments);

/// Prints the status of jobs.
int show_status(const status_arguments& arguments);

/// Hosts a coordinator until its job ends.
int host_coordinator(const coordinator_arguments& arguments);

/// Makes this user's secret.
int make_secret(const secret_arguments& arguments);

/// Prints a failure for a person.
/// @returns its exit code
int fail(const failure& why, std::string_view program);

/// The same for a job of another host that was looked for.
int fail_to_find(const failure& why, const job_options& job);

/// The exit code for the end of a job, or of our part in it.
int exit_code_of(const core::ending& how);

} // namespace actorrun::cli
