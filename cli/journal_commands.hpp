// Runs the commands of `actorctl` that read journals: arguments in, exit code out.
#pragma once

#include "cli/actorctl_arguments.hpp"

namespace actorrun::cli {

/// Prints what has happened in a job.
int show_journal(const journal_arguments& arguments);

/// Explains a job: 0, it is healthy; 1, it waits or has failed; 3, there is none.
int explain_job(const why_arguments& arguments);

/// Shows a job as it was at a moment.
int replay(const replay_arguments& arguments);

/// Accounts for the time of a job.
int show_time(const time_arguments& arguments);

} // namespace actorrun::cli
