// Reads the command line of `actorrun`: what it asks for, or what is wrong with it.
#pragma once

#include "cli/options/host_facts.hpp"
#include "cli/options/worker_command.hpp"
#include "messages/result.hpp"
#include "runtime/options.hpp"

#include <string>
#include <variant>
#include <vector>

namespace actorrun::cli {

/// Run this node's share of a job.
struct run_arguments {
  /// Valid. Without a rendezvous the job has this node alone.
  job_options job;
  /// Valid except for `workers.command`, which is empty until
  /// `worker_command(program, …)` has found what to execute.
  agent_options agent;
  worker_program program;
  std::vector<int> signals_to_handle; ///< End this node's part; at least one.
  std::vector<int>
    signals_to_forward; ///< Passed on to workers; none of the above.
  std::vector<std::string> warnings; ///< One line each, for a person.
  /// Show a line of JSON on standard error for each event.
  bool logs_events = false;
  /// Print what the workers are bound to.
  bool reports_bindings = false;
};

/// Show `text` on standard output and succeed.
struct help {
  std::string text;
};

/// Show the version on standard output and succeed.
struct version {};

using run_command = std::variant<run_arguments, help, version>;

/// Reads a command line as torchrun does.
///
/// The first word that is not an option is the script; all words after it are the
/// script's arguments and are not read. Options that are not given are taken from
/// the variables `PET_…`, then from the defaults. Deterministic: it asks only
/// `world`.
/// @param words Without the program's name.
/// @retval errc::bad_argument  an option or variable is unknown, not supported,
///         wrong or at odds with another; the text names it
result<run_command> parse_run(const std::vector<std::string>& words,
                              const host_facts& world);

} // namespace actorrun::cli
