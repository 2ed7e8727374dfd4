// Error files: what a worker says about its end, and what the launcher says
// about its own.
#pragma once

#include "actors/core/epoch.hpp"
#include "messages/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace actorrun::detail {

/// What an error file says, within the limits of `core::death_details`.
struct error_file_text {
  /// `<type>: <text>`, one line; of a file that is not sound, what is wrong with
  /// it.
  std::string message;
  std::string traceback; ///< Empty if the file is not sound.
};

/// Reads the error file of a worker. Whatever is there, it takes no longer than
/// to read 1 MiB.
/// @returns nothing if there is none
std::optional<error_file_text> read_error_file(const std::string& path);

/// Tells whoever started us why the job failed, as torch's `@record` does: a
/// copy of the failed worker's error file with the exit code in it, or a file
/// in the same form that says what we know.
/// @param path `TORCHELASTIC_ERROR_FILE` of this program; what was there is
///             replaced, at once or not at all.
/// @param has_worker_file The worker's error file can be read on this machine.
/// @retval errc::log_failed  it cannot be written; the text says why
result<void> write_error_file(const std::string& path,
                              const core::worker_failure& first,
                              bool has_worker_file);

/// The same for a failure that is not a worker's.
/// @param message `<type>: <text>`
/// @param wall_ms Unix time of the failure
result<void> write_error_file(const std::string& path, std::string_view message,
                              int64_t wall_ms);

} // namespace actorrun::detail
