// A worker that is made by a fork: its life from the first step to its exit.
#pragma once

#include "runtime/processes/child_setup.hpp"

#include <functional>
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

} // namespace actorrun::detail
