// Defines what the options of `actorrun` ask for, once it is checked how they go
// together.
#pragma once

#include "cli/options/worker_command.hpp"
#include "runtime/options.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace actorrun::cli {

/// Tell the workers that the time limit of a step of Slurm is near.
struct time_limit_notice {
  std::string job;  ///< For squeue: `170`, or `168_3` of an array.
  std::string step; ///< A number.
  uint32_t node_rank = 0;
  std::chrono::seconds before{0}; ///< The limit; > 0.
};

/// Run this node's share of a job.
struct run_arguments {
  /// Valid. Without a rendezvous the job has this node alone.
  job_options job;
  /// Valid except for `workers.command`, which is empty until
  /// `worker_command(program, …)` has found what to execute.
  agent_options agent;
  http_options http;
  /// MASTER_PORT of this node alone if it is free, and `agent` names none.
  std::optional<uint16_t> preferred_master_port;
  worker_program program;
  std::vector<int> signals_to_handle; ///< End this node's part; at least one.
  std::vector<int>
    signals_to_forward; ///< Passed on to workers; none of the above.
  std::optional<time_limit_notice> time_limit;
  std::vector<std::string> warnings; ///< One line each, for a person.
  std::vector<std::string> details;  ///< Likewise, for who looks for a cause.
  std::vector<std::string> notices;  ///< The same, of what is as it should be.
  /// Show a line of JSON on standard error for each event.
  bool logs_events = false;
  /// Print what the workers are bound to.
  bool reports_bindings = false;
  std::string title;            ///< What reports call the program.
  std::string report_file;      ///< Path; empty: none is wanted.
  bool has_class_codes = false; ///< Of failures; else torchrun's 1.
  bool prints_report = true;    ///< The failure report, on standard error.
  bool hides_variables = false; ///< Workers get none of options.
  std::optional<int> event_descriptor; ///< Takes events; none: not wanted.
  /// A pipe or a socket whose end stops the job; none: not given.
  std::optional<int> parent_descriptor;
};

} // namespace actorrun::cli
