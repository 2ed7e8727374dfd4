// Runs a worker that is made by a fork, from its first step to its exit.
#pragma once

#include "runtime/os/unique_fd.hpp"
#include "runtime/processes/child_setup.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace actorrun::detail {

struct forked_child {
  pid_t agent
    = 0; ///< Its parent; the worker dies with the thread that made it.
  int handshake = 0; ///< See `child_handshake`.
  child_files files{};
  std::vector<std::string> environment{}; ///< `NAME=value`, the whole of it.
  /// Its origin has buffered bytes for its own files, which must not be written
  /// twice.
  bool has_foreign_buffers = false;
};

/// Makes the calling process, a copy of this program with one thread, a worker:
/// in a session of its own, with the descriptors of `files` and no others, with
/// `environment` and default signals; reports to the agent and, when that says
/// so, calls `body` and ends with the code that it returns. An exception that
/// leaves `body` is `std::terminate`.
[[noreturn]] void run_forked_child(const forked_child& child,
                                   const std::function<int()>& body) noexcept;

/// Flushes the standard streams and all of stdio.
void flush_streams();

/// The report on a worker that is being started.
struct child_report {
  pid_t pid = 0;      ///< 0: there is none.
  int error = 0;      ///< errno of the step that failed.
  bool ready = false; ///< It leads its session and waits for permission to run.
};

/// Two connected sockets. The child reports and waits; it ends if the agent
/// closes its end first. The agent never waits.
struct child_handshake {
  unique_fd agent;
  unique_fd child;

  /// Empty, and errno set, if there is no descriptor left.
  static std::optional<child_handshake> open();
};

// -- in the child, or in the server that makes it -----------------------------

void send_report(int fd, const child_report& report) noexcept;

/// Waits for permission to run; false if the start was abandoned.
bool await_go(int fd) noexcept;

// -- in the agent -------------------------------------------------------------

/// @returns nothing if there is no report yet; ECONNRESET, without a pid, if
///          the other end is gone
std::optional<child_report> take_report(int fd) noexcept;

void send_go(int fd) noexcept;

} // namespace actorrun::detail
