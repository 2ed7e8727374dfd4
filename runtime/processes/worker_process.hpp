// Owns one started process: its pidfd, its process group, its zombie.
#pragma once

#include "actors/core/time.hpp"
#include "actors/ports/process_host.hpp"
#include "runtime/os/unique_fd.hpp"
#include "runtime/processes/warden.hpp"

#include <cstdint>
#include <optional>

#include <sys/types.h>

namespace actorrun::detail {

/// How a process ended.
struct exit_status {
  int exit_code = 0;
  int signal = 0; ///< 0 when it exited by itself.
  bool dumped = false;
  bool unknown = false; ///< The host program has reaped it; the code is 255.
  uint64_t memory = 0;  ///< The most that it has used, in bytes.
};

/// A process that leads a process group. Its pid, and so the id of the group,
/// is not reused before `reap`, because its zombie keeps it.
struct worker_process {
  uint32_t local_rank = 0;
  pid_t pid = 0;
  unique_fd pidfd;
  warden::registration registration;
  bool ended = false;
  /// The host program reaped the zombie, e.g. by `waitpid(-1)`: from then on
  /// the pid does not identify the group.
  bool reaped_elsewhere = false;
  bool is_ordered = false; ///< It is to end, and was not ending before.
  uint64_t sent = 0;       ///< Signals that it was sent while it ran, as bits.
  /// When it was found ending, just before a signal was sent.
  std::optional<core::time_point> found_ending{};

  /// Whether a signal of ours was the cause of a death by this one.
  bool has_sent(int signal) const;

  /// Reads how it ended and leaves the zombie; nothing while it runs.
  std::optional<exit_status> poll_exit();

  /// Signals the rest of the group, whether or not the leader has ended.
  void kill_group(int signal);

  /// Signals the group, or the leader alone; what was stopped is continued, so that
  /// it can end.
  void end_group(int signal, ports::signal_scope scope);

  /// Signals the leader alone, while it runs.
  void signal_leader(int signal);

  /// It is to end. Looks before whether it is ending: then no later signal is the
  /// cause. What is seen to have ended may have begun to seconds before.
  void order();

  /// It is to go on.
  void countermand();

  /// Frees the pid. @pre `ended`
  void reap();

private:
  void look();
  void note(int signal);
  void send_to_group(int signal) const;
};

} // namespace actorrun::detail
