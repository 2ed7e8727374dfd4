// Describes the command line of `actorctl`: its commands and their options.
#pragma once

#include "cli/options/command_line.hpp"
#include "cli/options/common_options.hpp"
#include "cli/options/failure_options.hpp"
#include "cli/options/moments.hpp"
#include "cli/options/rendezvous_conf.hpp"
#include "cli/options/values.hpp"
#include "runtime/options.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace actorrun::cli {

/// The values of the options, before it is checked how they go together.
struct control_settings {
  shown_instead shown;
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
  std::string output;
  bool all = false;
  bool once = false; ///< Do not go on.
  std::optional<given_moment> at;
  std::optional<given_moment> from;
  std::optional<given_moment> until;
  std::string local_job; ///< Of this host; empty: the only one.
  std::string reason;
  std::string node;
  std::optional<std::chrono::milliseconds> deadline;
  bool waits_for_replacement = false;
  bool cancels = false;
  bool yes = false;                               ///< Ask no question.
  std::vector<std::string> lost_hosts;            ///< Empty: not given.
  std::vector<uint32_t> ranks;                    ///< Empty: all.
  std::optional<std::chrono::milliseconds> since; ///< Before now.
  std::optional<uint32_t> tail;
  std::string grep;
  std::optional<double> node_price; ///< Per hour.
  bool previous = false;
  bool only_out = false;
  bool only_err = false;
  http_options http;
  failure_settings failures;
  std::string exclude_file;  ///< A path; empty: not given.
  std::string local_address; ///< Of a witness; empty: detected.
  std::chrono::milliseconds safe_point_timeout = core::timeouts{}.safe_point;
};

/// An App, and where the values of its options go. No option has a variable: a shell
/// may hold those of another job.
struct control_program {
  control_program();
  control_program(const control_program&) = delete;
  control_program& operator=(const control_program&) = delete;

  control_settings settings;
  std::shared_ptr<CLI::App> app;
};

/// Numbers and ranges between commas, `0,2-5`; in order, each once.
/// @retval errc::bad_argument  it is something else, or names too many
result<std::vector<uint32_t>> parse_ranks(std::string_view text);

/// Hosts, addresses or ids of agents between commas, 1 to 16.
/// @retval errc::bad_argument  one is none, or there are too many
result<std::vector<std::string>> parse_lost_hosts(std::string_view text);

} // namespace actorrun::cli
