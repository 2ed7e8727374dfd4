// Starts the agents of a job on many hosts, through ssh or another remote
// shell, and watches them.
#pragma once

#include "actors/core/hosts/agent_order.hpp"
#include "actors/core/hosts/host_launch.hpp"
#include "actors/log.hpp"
#include "messages/ids.hpp"
#include "messages/result.hpp"
#include "runtime/program_support.hpp"

#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace actorrun {

namespace detail {
class host_starter;
class reactor;
} // namespace detail

/// How one agent is started.
struct agent_start {
  /// Executed on this host, [0] looked up in PATH. What it starts, here or
  /// elsewhere, calls `receive_order`.
  std::vector<std::string> command;
  bool is_local = false; ///< It is the agent itself, not a remote shell.
};

struct host_agents_options {
  core::host_settings settings;    ///< `names` label the lines of the hosts.
  std::vector<agent_start> starts; ///< As many as names.
  /// Makes the order of a host; called on a thread of its own, after the host has
  /// answered. Must not block.
  /// @param coordinator What the host with the coordinator has answered; null if
  ///        `chooses_coordinator` is off.
  std::function<result<core::agent_order>(
    const core::give_order& which, const core::agent_greeting* coordinator)>
    order_of;
  std::shared_ptr<program_console> console; ///< Gets the lines of all hosts.
  log lines{};
  /// Called once, on some thread, when all is over. Must not block.
  std::function<void()> on_ended{};
};

/// The agents of one job. What they write goes to the console, line by line with
/// the name of the host: `b: generation 3, loss 0.2`.
///
/// An agent that loses this program, or the connection to it, leaves the job and
/// ends its workers.
class host_agents {
public:
  /// Starts all side by side and returns.
  /// @retval errc::program_not_found       a command is not there; the text names
  ///         it
  /// @retval errc::program_not_executable  likewise
  /// @retval errc::start_failed            the system denies a process
  static result<std::unique_ptr<host_agents>>
  start(host_agents_options options);

  /// Drops all connections.
  ~host_agents();

  host_agents(const host_agents&) = delete;
  host_agents& operator=(const host_agents&) = delete;

  /// Asks the agents to end, or to pass a signal on to their workers.
  void signal(int number, bool ends);

  /// Waits until all have ended and their lines are on the console.
  core::end_launch wait();

private:
  host_agents();

  std::shared_ptr<detail::reactor> loop_;
  std::unique_ptr<detail::host_starter> starter_;
  std::future<core::end_launch> ending_;
};

/// What an agent has been told.
struct received_order {
  core::agent_order order;
  /// The connection to the program that gave the order: notices come from there. At
  /// its end that program is gone.
  int connection = -1;
  std::string rest; ///< Bytes of notices that have come already.
};

/// For a program that `host_agents` has started: answers on standard output and
/// waits for the order on standard input, which is `/dev/null` from then on.
/// Blocks.
/// @param version Of the program.
/// @retval errc::connection_failed  the other side is gone
/// @retval errc::bad_argument       what came is no order
result<received_order> receive_order(const std::string& version);

/// Shows the program that gave the order that this one is alive, as long as it
/// exists, on a thread of its own. @pre the order was received
class life_signs {
public:
  life_signs();
  ~life_signs();

  life_signs(const life_signs&) = delete;
  life_signs& operator=(const life_signs&) = delete;

private:
  struct shared;
  std::shared_ptr<shared> shared_;
  std::thread thread_;
};

/// Whether an agent of the job, or a worker of such an agent, is on this host that
/// another launch has started.
/// @param launch Of the order.
bool is_earlier_launch_here(const job_id& job, const std::string& launch);

} // namespace actorrun
