// The signals that end this node's part, that are passed on, and that end
// workers: how they go together.
#pragma once

#include "cli/options/actorrun_options.hpp"
#include "cli/options/arguments.hpp"

#include <optional>
#include <vector>

namespace actorrun::cli {

/// SIGTERM, SIGINT, SIGHUP and SIGQUIT; without SIGHUP if this process was
/// started with it ignored: who says nohup means it.
std::vector<int> default_signals(const host_facts& world);

/// Fills in the signals of `out`.
/// @retval errc::bad_argument  one signal has two meanings, or none is handled
std::optional<failure> settle_signals(const run_settings& settings,
                                      const host_facts& world,
                                      run_arguments& out);

} // namespace actorrun::cli
