// Writes how this node's part in a job has ended for the program that has started it.
#pragma once

#include "actors/core/generation.hpp"
#include "messages/result.hpp"

#include <string>
#include <string_view>

namespace actorrun::cli {

/// What the report file has, as JSON; see docs/reports.md. The same for each node,
/// but for what is its own.
/// @param host       This one's name: error files of its workers can be read here.
/// @param log_folder Of this node's workers; empty: they have none.
std::string report_json(const core::ending& how, std::string_view host,
                        std::string_view log_folder, bool by_class = false);

/// Removes a report of an earlier run, and checks that one can be written.
/// @param path Empty: none is wanted.
/// @retval errc::bad_argument  it cannot; the text says why
result<void> prepare_report_file(const std::string& path);

/// Writes the report as a whole or not at all, for its user alone.
/// @param path Empty: none is wanted.
/// @retval errc::log_failed  it cannot be written; the text says why
result<void> leave_report_file(const std::string& path, const core::ending& how,
                               std::string_view host,
                               std::string_view log_folder,
                               bool by_class = false);

} // namespace actorrun::cli
