// The options of `actorrun`, one by one: names, values, variables, help.
#pragma once

#include "actorrun/cli/arguments_options.hpp"
#include "actorrun/cli/arguments_values.hpp"
#include "actorrun/cli/rendezvous_conf.hpp"
#include "actorrun/runtime/options.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace actorrun::cli {

/// What was set, each for itself; how it goes together is for `parse_run`.
struct run_settings {
  node_range nodes;
  std::optional<endpoint> rendezvous; ///< None: not given, or given empty.
  std::optional<std::string> job;     ///< None: not given.
  bool standalone = false;
  rendezvous_conf conf;
  std::string secret_file; ///< Path; empty: not given.
  std::string local_address;
  uint32_t slot_count = 1;
  std::string role = "default";
  bool is_module = false;
  bool no_python = false;
  uint32_t restart_count_max = 0;
  double monitor_interval = 0.1; ///< Seconds; checked, and not used.
  std::chrono::milliseconds grace_period{30'000};
  core::log_options logs; ///< But for `rotate_keep`.
  std::optional<uint32_t> rotate_keep;
  std::optional<std::vector<int>> signals_to_handle;
  std::vector<int> signals_to_forward;
  std::optional<int> stop_signal;
  bool no_timer = false;
  std::chrono::milliseconds watchdog{0}; ///< 0: not given.
};

/// The rules that fill `out`, which must outlive them. Options that torchrun
/// has and we have not yet are among them: they accept torchrun's default and
/// refuse everything else.
/// @param cpu_count For `--nproc-per-node=cpu`.
option_rules run_rules(run_settings& out,
                       const std::function<uint32_t()>& cpu_count);

// Parts of `run_rules`.

option_rules log_rules(run_settings& out);
option_rules signal_rules(run_settings& out);
option_rules timer_rules(run_settings& out);
option_rules unsupported_rules(); ///< Torchrun's options that are refused.

// Readers that `actorctl` has use for, too.

value_reader backend_reader();
value_reader endpoint_reader(std::optional<endpoint>& target);
value_reader restart_count_reader(uint32_t& target);

/// The text of `actorrun --help`.
std::string run_help();

} // namespace actorrun::cli
