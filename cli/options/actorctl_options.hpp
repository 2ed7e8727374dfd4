// Defines the options of `actorctl` and of its commands.
#pragma once

#include "cli/options/completion_option.hpp"
#include "cli/options/option_table.hpp"
#include "cli/options/rendezvous_conf.hpp"
#include "cli/options/values.hpp"
#include "runtime/http_options.hpp"
#include "runtime/options.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace actorrun::cli {

/// The values of the options, before it is checked how they go together.
struct control_settings {
  std::optional<shell> completion; ///< Print its script, and do nothing else.
  bool json = false;
  bool wide = false; ///< Show each worker in the text.
  std::optional<node_range> nodes;
  std::string rendezvous; ///< Empty: not given.
  std::optional<rendezvous_backend> backend;
  std::optional<std::string> job;
  std::optional<rendezvous_conf> conf;
  std::string secret_file;
  tls_options tls;
  std::optional<bool> munge; ///< None: not said.
  uint32_t restart_count_max = 0;
  bool force = false;
  std::optional<std::string> journal; ///< A folder.
  bool follow = false;
  bool all = false;
  bool once = false; ///< Do not go on.
  std::optional<std::string> at;
  std::string local_job; ///< Of this host; empty: the only one.
  std::string reason;
  std::string node;
  std::optional<std::chrono::milliseconds> deadline;
  bool waits_for_replacement = false;
  bool cancels = false;
  std::vector<uint32_t> ranks;                    ///< Empty: all.
  std::optional<std::chrono::milliseconds> since; ///< Before now.
  std::optional<uint32_t> tail;
  std::string grep;
  bool previous = false;
  bool only_out = false;
  bool only_err = false;
  http_options http;
  uint32_t exclude_after = 0;
  std::chrono::milliseconds safe_point_timeout = core::timeouts{}.safe_point;
};

// The rules that fill `out`, which must outlive them. None has a variable: a shell
// may hold those of another job.

/// The options in front of a command.
option_rules actorctl_rules(control_settings& out);
option_rules status_rules(control_settings& out);
option_rules top_rules(control_settings& out);
option_rules coordinator_rules(control_settings& out);
option_rules secret_rules(control_settings& out);
option_rules journal_rules(control_settings& out);
option_rules why_rules(control_settings& out);
option_rules replay_rules(control_settings& out);
option_rules logs_rules(control_settings& out);
option_rules stacks_rules(control_settings& out);
option_rules drain_rules(control_settings& out);
/// Of `resize` and `include`, which have no other options.
option_rules steer_rules(control_settings& out);
/// Of `restart`, `stop` and `exclude`.
option_rules reasoned_rules(control_settings& out);
option_rules log_level_rules(control_settings& out);

/// Numbers and ranges between commas, `0,2-5`; in order, each once.
/// @retval errc::bad_argument  it is something else, or names too many
result<std::vector<uint32_t>> parse_ranks(std::string_view text);

} // namespace actorrun::cli
