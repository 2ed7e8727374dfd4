// A worker that is made by a fork: its life from the first step to its exit.
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
  pid_t agent = 0;   ///< Its parent; it dies with the thread that has it.
  int handshake = 0; ///< See `child_handshake`.
  child_files files{};
  std::vector<std::string> environment{}; ///< `NAME=value`, the whole of it.
  /// Bytes that its origin has buffered for its own files are not to be written
  /// a second time.
  bool has_foreign_buffers = false;
};

/// Makes the calling process, a copy of this program with one thread, a worker:
/// in a session of its own, with the descriptors of `files` and no others, with
/// `environment` and default signals; reports to the agent and, when that says
/// so, calls `body` and ends with the code that it returns. An exception that
/// leaves `body` is `std::terminate`.
[[noreturn]] void run_forked_child(const forked_child& child,
                                   const std::function<int()>& body) noexcept;

/// Writes what the standard streams and all of stdio have buffered.
void flush_streams();

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
