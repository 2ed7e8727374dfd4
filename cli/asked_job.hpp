// Finds the job that an operator names: on this host, or by its rendezvous.
#pragma once

#include "cli/actorctl_arguments.hpp"
#include "runtime/status.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace actorrun::cli {

/// Blocks for at most `limit` per process of this host; not for a job elsewhere.
/// @retval as `find_local_job`
result<located_job> locate(const asked_job& job,
                           std::chrono::milliseconds limit);

/// What can be shown of the jobs of this host.
struct local_answers {
  std::vector<v1::JobStatus> jobs; ///< Each once.
  bool are_all = true;             ///< No process was silent.
};

/// Asks the jobs of this host. Prints a warning for each process that does not answer.
/// Blocks for at most `limit` per process.
/// @param job As of `ask_local_jobs`, as are errors.
result<local_answers> ask_here(const std::string& job,
                               std::chrono::milliseconds limit);

/// Prints why a job was not found, or has not answered.
/// @returns the exit code
int fail_to_reach(const failure& why, const asked_job& job);

} // namespace actorrun::cli
