// Writes to a pipe whose reader may be gone, without SIGPIPE.
#pragma once

#include <optional>
#include <string_view>

namespace actorrun::worker {

enum class pipe_outcome {
  written,
  full,
  broken, ///< It has no reader, or another error.
};

/// Writes a text that the system keeps whole. A program that does not even know
/// of the pipe must not end because its reader has: no SIGPIPE is left behind.
/// @param fd   Does not block.
/// @param text 1..PIPE_BUF bytes
pipe_outcome write_to_pipe(int fd, std::string_view text);

/// The same in one system call.
/// @returns none: this system cannot (Linux before 6.18)
std::optional<pipe_outcome> write_unsignalled(int fd, std::string_view text);

/// The same in three to five: blocks SIGPIPE for this thread, and takes back the
/// one that the write has caused.
pipe_outcome write_guarded(int fd, std::string_view text);

} // namespace actorrun::worker
