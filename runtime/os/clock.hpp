// Reads the clocks of this machine.
#pragma once

#include "actors/core/time.hpp"

namespace actorrun::detail {

/// The time that decisions are given.
inline core::time_point now() {
  return core::time_point::clock::now();
}

/// For how long the machine has been suspended since it was booted; never
/// decreases. `std::chrono::steady_clock` does not count that time.
/// Async-signal-safe.
///
/// A hypervisor that pauses a virtual machine need not tell its kernel; then that
/// time is counted by no clock of ours.
core::duration time_asleep() noexcept;

} // namespace actorrun::detail
