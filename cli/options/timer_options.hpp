// Timers that workers set for themselves: what is asked of them.
#pragma once

#include "cli/options/actorrun_options.hpp"
#include "cli/options/arguments.hpp"

#include <optional>

namespace actorrun::cli {

/// Fills in the timers of `out`. Two variables of torchrun's count:
/// TORCHELASTIC_ENABLE_FILE_TIMER (0: as `--no-timer`) and
/// TORCHELASTIC_TIMER_FILE (where the FIFO is to be).
/// @retval errc::bad_argument  the first is neither 0 nor 1
std::optional<failure> settle_timers(const run_settings& settings,
                                     const host_facts& world,
                                     run_arguments& out);

} // namespace actorrun::cli
