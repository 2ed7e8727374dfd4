// Defines the options that start a job on many hosts with one command, and makes
// the orders for their agents.
#pragma once

#include "actors/core/hosts/agent_order.hpp"
#include "actors/core/hosts/host_launch.hpp"
#include "cli/options/command_line.hpp"
#include "cli/options/host_facts.hpp"
#include "cli/options/host_list.hpp"
#include "cli/options/run_arguments.hpp"
#include "cli/options/run_settings.hpp"
#include "cli/options/scan.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace actorrun::cli {

/// Adds the options that fill `out`, which must outlive `app`.
void add_host_options(CLI::App& app, run_settings& out);

/// How the agents of `hosts_arguments` find each other.
enum class meeting_place {
  /// At the coordinator, on the first host that can be reached.
  first_reached,
  /// Likewise, on the first host; ranks follow the list.
  first_host,
  /// As the options say that were typed.
  given,
};

/// Start a job on these hosts.
struct hosts_arguments {
  std::vector<host_share> hosts;
  /// Without its last two words: the host, and the command for its shell. Empty:
  /// ssh.
  std::vector<std::string> remote_shell;
  /// `--nnodes`; `min` is at most the number of hosts.
  node_range nodes;
  meeting_place place = meeting_place::first_host;
  /// Of the coordinator, if one was asked for.
  std::optional<uint16_t> port;
  /// The host in `--rdzv-endpoint`, if it is in the list.
  std::optional<core::host_index> coordinator;
  bool is_fixed = false;   ///< Ranks follow the list.
  std::string rendezvous;  ///< `--rdzv-endpoint`, for `given`.
  std::string job;         ///< Its id.
  bool is_new_job = false; ///< The id was made up.
  std::string conf;        ///< Of `--rdzv-conf`; may be empty.
  /// Others must know the coordinator by the name in the list, which is in a
  /// certificate.
  bool names_matter = false;
  /// All hosts get these: rendered again, so that they mean the same whatever else
  /// is there.
  std::vector<std::string> options;
  std::vector<std::string> program; ///< The script and its arguments.
  /// For all agents.
  std::vector<std::pair<std::string, std::string>> variables;
  std::string secret; ///< Empty: certificates prove who a node is.
  std::vector<int> signals_to_handle;
  std::vector<int> signals_to_forward;
  std::chrono::milliseconds grace{};
  /// A pipe or a socket whose end stops the job; none: not given.
  std::optional<int> parent_descriptor;
  std::vector<std::string> warnings; ///< One line each, for a person.
};

/// Where the coordinator is.
struct known_coordinator {
  core::host_index host = 0;
  endpoint where;
};

/// Decides how a job is started on many hosts, apart from what the agents decide for
/// themselves.
/// @param typed The command line, which was read with `app`.
/// @retval errc::bad_argument  options exclude each other, or one is missing
result<hosts_arguments> settle_hosts(const run_settings& settings,
                                     const scanned_words& typed,
                                     const CLI::App& app,
                                     const host_facts& world);

/// Whether the job is to be started on many hosts.
bool names_hosts(const run_settings& settings);

/// The command line of a host's agent.
/// @param coordinator Where it is; none for `given`.
std::vector<std::string>
agent_words(const hosts_arguments& arguments, core::host_index host,
            const std::optional<known_coordinator>& coordinator);

/// Where the agents meet the coordinator.
/// @param own The name of this host.
endpoint coordinator_endpoint(const hosts_arguments& arguments,
                              core::host_index host,
                              const core::agent_greeting& greeting,
                              const std::string& own);

/// The command for the shell of a host: executes the same actorrun as here, or else
/// the one in its PATH. Every shell in use understands it.
/// @param program Absolute path of this program.
std::string agent_command(std::string_view program);

/// The word that makes an actorrun an agent of another one.
inline constexpr auto agent_word = "--agent-by-order";

/// Variables that are for the actorrun with the list of hosts, and not for agents.
bool is_for_launcher_only(std::string_view variable);

/// `world`, for an agent that has been told its secret, if there is one.
host_facts facts_of_agent(host_facts world, const std::string& secret);

} // namespace actorrun::cli
