// Defines the options about signals: those that end this node's part of the job,
// those that are passed on to workers, the one that asks workers to end, and what says
// that this machine is about to go.
#pragma once

#include "cli/options/command_line.hpp"
#include "cli/options/host_facts.hpp"
#include "cli/options/run_arguments.hpp"
#include "cli/options/run_settings.hpp"

#include <vector>

namespace actorrun::cli {

/// Adds the options that fill `out`, which must outlive `app`.
void add_signal_options(CLI::App& app, run_settings& out);

/// SIGTERM, SIGINT, SIGHUP and SIGQUIT; but for SIGTERM, without those that this
/// process was started with ignored, as by nohup or in the background of a script.
std::vector<int> default_signals(const host_facts& world);

/// Fills in the signals of `out`.
/// @retval errc::bad_argument  one signal has two meanings, or none is handled
result<void> settle_signals(const run_settings& settings,
                            const host_facts& world, run_arguments& out);

} // namespace actorrun::cli
