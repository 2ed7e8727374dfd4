// Owns the line between an agent and a worker that is made by a fork, until the
// worker may run.
#pragma once

#include "runtime/os/unique_fd.hpp"

#include <optional>

#include <sys/types.h>

namespace actorrun::detail {

/// What the agent is told of a worker on its way.
struct child_report {
  pid_t pid = 0;      ///< 0: there is none.
  int error = 0;      ///< errno of the step that failed.
  bool ready = false; ///< It leads its session and waits for the go.
};

/// Two connected sockets. The child reports and waits; it ends if the agent
/// lets go of its end without a word. The agent never waits.
struct child_handshake {
  unique_fd agent;
  unique_fd child;

  /// Empty, and errno set, if there is no descriptor left.
  static std::optional<child_handshake> open();
};

// -- in the child, or in the server that makes it -----------------------------

void send_report(int fd, const child_report& report) noexcept;

/// Waits; false if the child is not wanted any more.
bool await_go(int fd) noexcept;

// -- in the agent -------------------------------------------------------------

/// @returns nothing if nothing was told yet; ECONNRESET, without a pid, if the
///          other end is gone
std::optional<child_report> take_report(int fd) noexcept;

void send_go(int fd) noexcept;

} // namespace actorrun::detail
