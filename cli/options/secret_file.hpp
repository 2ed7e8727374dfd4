// Reads and makes the files that hold a job's secret.
#pragma once

#include "messages/result.hpp"

#include <functional>
#include <optional>
#include <string>

namespace actorrun::cli {

/// The content of a file without the line end behind it.
/// @returns 1..`secret_length_max` bytes
/// @retval errc::bad_argument  the file cannot be read, is readable by its
///         group or by others, is empty or too long. Its group may read a file
///         of root that we are given by that: so are secrets mounted
result<std::string> read_secret(const std::string& path);

/// As `read_secret`, and an empty text if there is no such file.
result<std::string> read_secret_if_any(const std::string& path);

/// Where this user's own secret lies: `actorrun/secret` in `$XDG_CONFIG_HOME`, or
/// else in `$HOME/.config`. Only absolute paths count.
/// @param variable Of the environment; none if it is not set.
/// @returns an empty text if neither variable is set
std::string own_secret_path(
  const std::function<std::optional<std::string>(const std::string& name)>&
    variable);

/// Writes 256 random bits, as 64 hex digits and a line end, to a new file of
/// mode 0600. Makes the folders above it that are missing, with mode 0700. The
/// file is complete as soon as it has its name.
/// @param replaces A file that is there; otherwise that is an error.
/// @retval errc::bad_argument  there is a file, or it cannot be made; the text
///         names it
result<void> create_secret(const std::string& path, bool replaces);

} // namespace actorrun::cli
