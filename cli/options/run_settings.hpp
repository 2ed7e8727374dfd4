// Holds the values of the options of `actorrun`, before it is checked how they go
// together.
#pragma once

#include "cli/options/common_options.hpp"
#include "cli/options/device_options.hpp"
#include "cli/options/failure_options.hpp"
#include "cli/options/host_list.hpp"
#include "cli/options/rendezvous_conf.hpp"
#include "cli/options/signal_values.hpp"
#include "cli/options/values.hpp"
#include "runtime/options.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace actorrun::cli {

/// A variable that agents on other hosts get.
struct exported_variable {
  std::string name;                 ///< A `*` at its end stands for any rest.
  std::optional<std::string> value; ///< None: as it is here.

  friend bool operator==(const exported_variable&, const exported_variable&)
    = default;
};

/// The value of each option of `run_program`; `parse_run` checks how they go together.
struct run_settings {
  shown_instead shown;
  /// The names of the options that stand on the command line. Others may come from
  /// variables, which whoever runs the jobs of many people has set for all of them.
  std::vector<std::string> typed;
  std::vector<host_share> hosts;         ///< Of `--hosts`; empty: not given.
  std::string host_file;                 ///< Path; empty: not given.
  std::vector<std::string> remote_shell; ///< Words; empty: ssh.
  std::vector<exported_variable> exports;
  bool dry_run = false; ///< Start nothing, and say what would be.
  node_range nodes;
  std::optional<rendezvous_backend> backend; ///< None: not given.
  std::string rendezvous;                    ///< Endpoints; empty: not given.
  std::optional<std::string> job;            ///< None: not given.
  bool standalone = false;
  rendezvous_conf conf;
  std::string secret_file; ///< Path; empty: not given.
  bool requires_secret = false;
  tls_options tls;
  std::optional<bool> munge;          ///< None: if it works, under Slurm.
  std::optional<std::string> journal; ///< A folder, or `none`.
  http_options http;                  ///< Without `health`.
  std::string local_address;
  std::optional<uint32_t> node_rank;
  /// Without brackets; may be empty, if a variable of the shell was.
  std::optional<std::string> master_address;
  std::optional<uint32_t> master_port; ///< A port; 0: any free one.
  device_settings devices;
  uint32_t slot_count = 1;  ///< From `devices`, once these are counted.
  uint32_t spare_count = 0; ///< Beside them.
  bool virtual_local_rank = false;
  std::string role = "default";
  bool is_module = false;
  bool no_python = false;
  bool run_path = false;
  std::string start_method = "spawn"; ///< Checked, but not used.
  /// The script gets its rank on its node as an argument, unless the second is set.
  bool passes_local_rank = false;
  bool uses_environment = false;
  bool logs_events = false;
  bool workers_serve_store = false; ///< The worker with rank 0 does.
  uint32_t restart_count_max = 0;
  failure_settings failures;
  bool has_class_codes = false;
  std::string exclude_file; ///< A path; empty: not given.
  std::chrono::milliseconds safe_point_timeout = core::timeouts{}.safe_point;
  double monitor_interval = 0.1; ///< Seconds; checked, but not used.
  std::chrono::milliseconds grace_period{30'000};
  core::log_options logs; ///< Except `rotate_keep`.
  std::optional<uint32_t> rotate_keep;
  std::optional<signal_choice> signals_to_handle;
  std::vector<int> signals_to_forward;
  std::optional<int> stop_signal;
  bool stops_children = true; ///< It reaches what workers have started, too.
  std::optional<int> notice_signal;                       ///< 0: none.
  std::optional<std::chrono::milliseconds> notice_before; ///< The time limit.
  notice_options notices;  ///< Of the end of this machine.
  std::string report_file; ///< Path; empty: not given.
  bool prints_no_report = false;
  std::string entry_name;               ///< Empty: not given.
  std::optional<int> event_descriptor;  ///< ≥ 3.
  std::optional<int> parent_descriptor; ///< ≥ 3.
  bool ignores_variables = false;       ///< Those of options.
  check_options checks;                 ///< Its commands.
  std::optional<core::check_moments> check_moments;
  std::optional<std::chrono::milliseconds> check_limit;
  bool no_timer = false;
  std::chrono::milliseconds watchdog{0};                 ///< 0: not given.
  std::optional<std::chrono::milliseconds> hang_timeout; ///< 0: `auto`.
  std::optional<bool> ends_hung_worker;
  std::optional<uint32_t> straggler_distance;
  std::optional<uint32_t> straggler_windows;
  std::optional<straggler_policy> on_straggler;
};

} // namespace actorrun::cli
