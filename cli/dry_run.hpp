// Runs `actorrun --dry-run`: says what would be started, and starts nothing.
#pragma once

#include "cli/actorrun_arguments.hpp"

#include <string>

namespace actorrun::cli {

/// What would be run, where each value comes from, and what is odd about it. Ends with a
/// line end.
/// @param command What the workers would execute, or why there is nothing to execute.
std::string plan_text(const dry_run_arguments& arguments,
                      const result<std::vector<std::string>>& command);

/// Prints that.
/// @returns the exit code with which the start would be refused; else 0
int show_plan(const dry_run_arguments& arguments);

} // namespace actorrun::cli
