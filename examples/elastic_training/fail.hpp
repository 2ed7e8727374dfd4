// How a worker gives up: it says why and ends. Starting it again, here or
// elsewhere, is the launcher's work and not the worker's.
#pragma once

#include <string_view>

namespace training {

enum class exit_status : int {
  failed = 1,    ///< Something went wrong while running.
  bad_usage = 2, ///< Arguments or environment make no sense.
};

/// Writes one line to standard error and ends the process.
[[noreturn]] void fail(std::string_view why,
                       exit_status status = exit_status::failed);

/// Like `fail`, with the text of `errno` behind `what`.
[[noreturn]] void fail_errno(std::string_view what);

} // namespace training
