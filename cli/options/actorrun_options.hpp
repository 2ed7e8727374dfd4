// The options of `actorrun`, one by one: names, values, variables, help.
#pragma once

#include "cli/completion/completion.hpp"
#include "cli/options/device_options.hpp"
#include "cli/options/option_table.hpp"
#include "cli/options/rendezvous_conf.hpp"
#include "cli/options/store_options.hpp"
#include "cli/options/values.hpp"
#include "runtime/options.hpp"

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
  std::optional<rendezvous_backend> backend; ///< None: not given.
  std::string rendezvous;                    ///< An endpoint; empty: not given.
  std::optional<std::string> job;            ///< None: not given.
  bool standalone = false;
  rendezvous_conf conf;
  std::string secret_file; ///< Path; empty: not given.
  std::string local_address;
  std::optional<uint32_t> node_rank;
  /// Without brackets; empty: a variable of the shell was, maybe.
  std::optional<std::string> master_address;
  std::optional<uint32_t> master_port; ///< A port; 0: any free one.
  device_settings devices;
  uint32_t slot_count = 1; ///< By `devices`, once these are counted.
  bool virtual_local_rank = false;
  std::string role = "default";
  bool is_module = false;
  bool no_python = false;
  bool run_path = false;
  std::string start_method = "spawn"; ///< Checked, and not used.
  bool uses_environment = false;      ///< Checked, and not used.
  bool logs_events = false;
  store_settings store;
  std::optional<shell> completion; ///< Print this, and do nothing else.
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

/// The rules that fill `out`, which must outlive them. Options of torchrun that
/// have no meaning here are among them: they accept what asks for nothing and
/// refuse everything else.
/// @param cpu_count For `--nproc-per-node=cpu`.
option_rules run_rules(run_settings& out,
                       const std::function<uint32_t()>& cpu_count);

// Parts of `run_rules`.

option_rules node_rules(run_settings& out);
option_rules log_rules(run_settings& out);
option_rules signal_rules(run_settings& out);
option_rules timer_rules(run_settings& out);
/// Options that mean something to torchrun, and little or nothing to us.
option_rules torchrun_rules(run_settings& out);

// Rules and readers that `actorctl` has use for, too.

option_rule secret_rule(const std::string& heading, std::string& target);

/// Checks addresses and keeps them as they were typed: how many there may be,
/// and which port they have without one, depends on the back end.
value_reader endpoint_reader(std::string& target);
value_reader backend_reader(std::optional<rendezvous_backend>& target);
value_reader restart_count_reader(uint32_t& target);

/// The text of `actorrun --help`.
std::string run_help();

} // namespace actorrun::cli
