// The command line of `actorrun`: what it asks for, or what is wrong with it.
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
  /// Valid. Without a rendezvous the job is of this node alone.
  job_options job;
  /// Valid but for `workers.command`: empty until `worker_command(program, …)`
  /// has found what there is to execute.
  agent_options agent;
  worker_program program;
  std::vector<int> signals_to_handle;  ///< End this node's part; ≥ 1 of them.
  std::vector<int> signals_to_forward; ///< Passed on to the workers; others.
  std::vector<std::string> warnings;   ///< One line each, for a person.
  /// Show a line of JSON on standard error for each event.
  bool logs_events = false;
  /// Say what the workers are bound to.
  bool reports_bindings = false;
};

/// Show `text` on standard output and succeed.
struct help {
  std::string text;
};

/// Show the version on standard output and succeed.
struct version {};

using run_command = std::variant<run_arguments, help, version>;

/// Reads a command line as torchrun would.
///
/// The first word that is no option is the script; all behind it is the
/// script's, unread. What the command line leaves open is taken from the
/// variables `PET_…`, then from the defaults. Deterministic: it asks nothing
/// but `world`.
/// @param words Without the program's name.
/// @retval errc::bad_argument  an option or variable is unknown, not supported,
///         wrong or at odds with another; the text names it
result<run_command> parse_run(const std::vector<std::string>& words,
                              const host_facts& world);

} // namespace actorrun::cli
