// Reads the error files of workers.
#pragma once

#include <optional>
#include <string>

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

} // namespace actorrun::detail
