// Reports a failed job: to people as text, and to the program that started us in
// an error file.
#pragma once

#include "actors/core/generation.hpp"
#include "messages/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace actorrun::cli {

/// A Unix time in ms as this machine's local time, `2026-08-01_12:34:56`.
std::string local_time(int64_t wall_ms);

/// The report on a failed job; empty for any other ending.
/// @param name As `core::failure_report`.
std::string failure_view(std::string_view name, const core::ending& how);

/// Why a job or our part in it failed, `<type>: <text>` as in an error file;
/// nothing if it did not, or a worker's failure is the reason.
std::optional<std::string> own_failure(const core::ending& how);

/// Writes the launcher's own error file. torchrun is decorated with `@record` as
/// its workers are, and programs that start it read that file.
/// @param path `TORCHELASTIC_ERROR_FILE`; empty: none is wanted.
/// @param host This one's name: error files of its workers can be read here.
/// @param now_ms Unix time
/// @retval errc::log_failed  it cannot be written; the text says why
result<void> leave_error_file(const std::string& path, const core::ending& how,
                              std::string_view host, int64_t now_ms);

} // namespace actorrun::cli
