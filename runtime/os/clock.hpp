// Measures the time for which this machine was suspended.
#pragma once

#include "actors/core/time.hpp"

namespace actorrun::detail {

/// For how long the machine has been suspended since it was booted; never
/// decreases. `std::chrono::steady_clock` does not count that time.
/// Async-signal-safe.
///
/// A hypervisor that pauses a virtual machine need not tell its kernel; then that
/// time is counted by no clock of ours.
core::duration time_asleep() noexcept;

} // namespace actorrun::detail
