// Parses the options about workers that are slower than the others.
#pragma once

#include "cli/options/command_line.hpp"
#include "cli/options/run_arguments.hpp"
#include "cli/options/run_settings.hpp"

namespace actorrun::cli {

void add_straggler_options(CLI::App& app, run_settings& out);

/// @pre `settle_checks`
/// @retval errc::bad_argument  what is to follow cannot
result<void> settle_stragglers(const run_settings& settings,
                               run_arguments& out);

} // namespace actorrun::cli
