// Reads the error files of workers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace actorrun::detail {

/// The content of an error file, within the limits of `core::death_details`.
struct error_file_text {
  /// `<type>: <text>`, one line; of an invalid file, what is wrong with it.
  std::string message;
  std::string traceback; ///< Empty if the file is invalid.
  /// When the worker failed, Unix time in ms; 0: it cannot be known.
  int64_t wall_ms = 0;
};

/// Reads the error file of a worker; at most 1 MiB of it.
/// @returns nothing if there is none
std::optional<error_file_text> read_error_file(const std::string& path);

} // namespace actorrun::detail
