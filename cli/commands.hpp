// Runs the commands of both programs: arguments in, exit code out.
#pragma once

#include "cli/actorctl_arguments.hpp"
#include "cli/actorrun_arguments.hpp"
#include "runtime/host_agents.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace actorrun::cli {

/// Takes part in a job with this node's workers until it ends.
/// @param by_order Another actorrun has started this one; null: a person has.
int run(const run_arguments& arguments,
        const received_order* by_order = nullptr);

/// Explains why a command line is refused, also in the `--report-file` that it names.
/// @returns the exit code
int refuse_to_run(const failure& why, const std::vector<std::string>& words);

/// Starts a job on other hosts and waits for its end.
int run_on_hosts(const hosts_arguments& arguments);

/// Waits for the order of the actorrun that has started this one, and carries it
/// out.
int run_by_order();

/// Prints the status of jobs.
int show_status(const status_arguments& arguments);

/// Hosts a coordinator until its job ends.
int host_coordinator(const coordinator_arguments& arguments);

/// Makes this user's secret.
int make_secret(const secret_arguments& arguments);

/// Prints a failure for a person.
/// @returns its exit code
int fail(const failure& why, std::string_view program);

/// The exit code of a program that has printed: `code`, unless a part of it was
/// lost, as on a full disk; then the error is explained.
int code_after_output(int code, std::string_view program);

/// The same for a job of another host that was looked for.
int fail_to_find(const failure& why, const job_options& job);

} // namespace actorrun::cli
