// Defines the options about timers that workers set for themselves.
#pragma once

#include "cli/options/command_line.hpp"
#include "cli/options/host_facts.hpp"
#include "cli/options/run_arguments.hpp"
#include "cli/options/run_settings.hpp"

namespace actorrun::cli {

/// Adds the options that fill `out`, which must outlive `app`.
void add_timer_options(CLI::App& app, run_settings& out);

/// Fills in the timers of `out`. Two variables of torchrun are read:
/// TORCHELASTIC_ENABLE_FILE_TIMER (0: as `--no-timer`) and
/// TORCHELASTIC_TIMER_FILE (the path of the FIFO).
/// @retval errc::bad_argument  the first is neither 0 nor 1
result<void> settle_timers(const run_settings& settings,
                           const host_facts& world, run_arguments& out);

} // namespace actorrun::cli
