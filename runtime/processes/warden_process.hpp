// Runs the warden's process, and defines what it shares with the agent.
#pragma once

#include "actors/core/epoch.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <limits>

#include <sys/types.h>

namespace actorrun::detail {

/// In memory shared by the agent, its workers before their exec, and the
/// warden. All zero is not its initial state: construct it.
struct warden_table {
  static constexpr int64_t no_fence = std::numeric_limits<int64_t>::max();

  /// CLOCK_BOOTTIME, in nanoseconds: leases run while the machine sleeps.
  std::atomic<int64_t> fence{no_fence};
  /// How often the fence has fired, ever.
  std::atomic<uint64_t> fire_count{0};
  /// Process groups to kill; 0 is a free slot.
  std::array<std::atomic<pid_t>, core::slots_per_agent_max> groups{};

  static_assert(std::atomic<int64_t>::is_always_lock_free);
};

/// The time on the clock of `warden_table::fence`, in nanoseconds.
/// Async-signal-safe.
int64_t now_of_fence() noexcept;

/// Ends in `_exit`. Runs in a process made by a plain fork of a program with
/// threads, so it calls only what is async-signal-safe and has inherited a mask
/// that blocks every signal: no handler of the agent can run in it.
/// @param agent_pidfd Becomes readable when the agent has ended.
/// @param wake_up An eventfd: look at `table` again.
[[noreturn]] void run_warden(warden_table& table, int agent_pidfd, int wake_up);

} // namespace actorrun::detail
