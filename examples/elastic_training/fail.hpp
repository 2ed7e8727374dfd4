// Ends a worker that cannot go on, with a reason. To restart it, here or
// elsewhere, is the task of the launcher.
#pragma once

#include <stdexcept>
#include <string_view>

namespace training {

/// The group is broken. The worker itself is well, and can be in the next one.
struct peer_lost : std::runtime_error {
  using std::runtime_error::runtime_error;
};

enum class exit_status : int {
  failed = 1,    ///< Something went wrong while running.
  bad_usage = 2, ///< Arguments or environment are invalid.
};

/// Writes one line to standard error and ends the process.
[[noreturn]] void fail(std::string_view why,
                       exit_status status = exit_status::failed);

/// Like `fail`, with the text of `errno` after `what`.
[[noreturn]] void fail_errno(std::string_view what);

} // namespace training
