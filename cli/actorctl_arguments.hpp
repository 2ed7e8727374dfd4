// Reads the command line of `actorctl`, or reports what is wrong with it.
#pragma once

#include "cli/actorrun_arguments.hpp"

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace actorrun::cli {

/// `actorctl status`: print the status of jobs.
struct status_arguments {
  bool json = false;
  std::string job; ///< Of this host; empty: all of them.
  /// Asked instead of this host's jobs. Valid, with a rendezvous; only what is
  /// needed to find the job is set.
  std::optional<job_options> remote;
};

/// `actorctl coordinator`: host a job's coordinator, without workers.
struct coordinator_arguments {
  job_options job; ///< Valid, with a rendezvous; the place is `here`.
  std::vector<std::string> warnings;
};

/// `actorctl secret create`: make this user's secret.
struct secret_arguments {
  std::string path; ///< Of the new file; absolute.
  bool replaces = false;
};

using control_command = std::variant<status_arguments, coordinator_arguments,
                                     secret_arguments, help, version>;

/// @param words Without the program's name.
/// @retval errc::bad_argument  a command or option is unknown, wrong, missing or
///         at odds with another; the text names it
result<control_command> parse_control(const std::vector<std::string>& words,
                                      const host_facts& world);

} // namespace actorrun::cli
