// Describes what a node runs in each of its slots.
#pragma once

#include <chrono>
#include <csignal>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace actorrun::core {

struct worker_settings {
  /// Program and arguments, never empty. `${local_rank}` stands for the local
  /// rank of the worker in each of them, `$$` for `$`.
  std::vector<std::string> command;
  /// Label of the program in a job of several; ROLE_NAME.
  std::string role = "default";
  /// Workers on this node, 1..`slots_per_agent_max`.
  uint32_t slot_count = 1;
  /// Live processes beside the workers that wait for the place of one that ends;
  /// with `slot_count` at most `slots_per_agent_max`.
  uint32_t spare_count = 0;
  /// Asks a worker to end.
  int stop_signal = SIGTERM;
  /// If a signal ends the agent, its workers get the stop signal
  /// instead of the same one.
  bool is_stop_signal_fixed = false;
  /// The processes that a worker has started get the stop signal, too. At the end of
  /// the grace period, or when the worker has ended, they are killed in any case.
  bool stops_children = true;
  /// Tells a worker that its node is to leave, or that its time ends; 0: it is not
  /// told.
  int notice_signal = SIGUSR1;
  /// From the stop signal to SIGKILL. 0 kills at once.
  std::chrono::milliseconds grace_period{30'000};
  /// From SIGKILL to giving up a worker that is still there. 0: never.
  std::chrono::milliseconds kill_timeout{30'000};
  /// From the order to start to giving up a worker that does not run yet, as when
  /// a file system hangs. A fork server alone may take a minute. 0: never.
  std::chrono::milliseconds start_timeout{120'000};
};

/// Replaces `${local_rank}` and `$local_rank` by the rank and `$$` by `$`;
/// every other `$` stays as it is.
/// @see torchrun substitutes with Python's `string.Template.safe_substitute`.
std::string expand(std::string_view text, uint32_t local_rank);

/// What the worker with `local_rank` executes.
std::vector<std::string> command_of(const worker_settings& spec,
                                    uint32_t local_rank);

} // namespace actorrun::core
