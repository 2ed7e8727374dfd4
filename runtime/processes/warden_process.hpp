// Runs the warden's process, and defines what it shares with the agent.
#pragma once

#include "actors/core/generation.hpp"
#include "runtime/os/socket_keeper.hpp"
#include "runtime/processes/worker_cgroup.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <limits>

#include <sys/types.h>

namespace actorrun::detail {

/// What is said at one kept socket. There are two copies of the statement, so that
/// one is whole whenever the agent ends.
struct kept_answer {
  struct text {
    std::array<char, socket_keeper::statement_size_max> bytes{};
    size_t size = 0;
  };
  std::array<text, 2> statements{};
  std::atomic<uint32_t> current{0};
  std::array<char, socket_keeper::release_size_max> release{};
  size_t release_size = 0;
};

/// Hands a descriptor to the warden, as the control message of a packet, or has it
/// close one.
struct socket_order {
  /// A `kept_socket`, or `companion`: the pidfd of the other warden.
  uint32_t which = 0;
  bool has_socket = false;

  static constexpr uint32_t companion = kept_socket_count;
};

/// Of two wardens with one table. Both kill; the first speaks for the dead, and the
/// second does when the first is gone, too.
enum class warden_role { first, second };

/// What the processes are called, in `ps` and to `pkill`: not like the program that
/// they guard, which people kill by its name.
inline constexpr auto first_warden_name = "arun-warden";
inline constexpr auto second_warden_name = "arun-second";

/// In memory shared by the agent, its workers before their exec, and the
/// warden. All zero is not its initial state: construct it.
struct warden_table {
  static constexpr int64_t no_fence = std::numeric_limits<int64_t>::max();

  /// CLOCK_BOOTTIME, in nanoseconds: leases run while the machine sleeps.
  std::atomic<int64_t> fence{no_fence};
  /// How often the fence has fired, ever.
  std::atomic<uint64_t> fire_count{0};
  /// Process groups to kill; 0 is a free slot. Those with a minus are spared by the
  /// fence; the next says how many they are.
  std::array<std::atomic<pid_t>, core::slots_per_agent_max> groups{};

  std::atomic<uint32_t> spared_count{0};

  /// Whether the wardens' pages are locked in memory: 0, an errno, or not tried
  /// yet.
  static constexpr int not_tried = -1;
  std::atomic<int> residence{not_tried};

  /// The path of the control group that holds those of all workers; empty: there
  /// is none. Written before the warden starts.
  std::array<char, cgroup_home::path_size_max> cgroup{};

  std::array<kept_answer, kept_socket_count> answers{};
  /// In nanoseconds: how long a statement is offered after the agent's end or
  /// the last request at the coordinator's socket, and at most.
  std::atomic<int64_t> linger{0};
  std::atomic<int64_t> linger_max{0};

  static_assert(std::atomic<int64_t>::is_always_lock_free);
};

/// Kills what is in the control group of the workers. Async-signal-safe.
/// @returns whether any process lives there still
bool kill_cgroup_of(const warden_table& table) noexcept;

/// The time on the clock of `warden_table::fence`, in nanoseconds.
/// Async-signal-safe.
int64_t now_of_fence() noexcept;

/// Ends in `_exit`. Runs in a process made by a plain fork of a program with
/// threads, so it calls only what is async-signal-safe and has inherited a mask
/// that blocks every signal: no handler of the agent can run in it.
/// @param agent_pidfd Becomes readable when the agent has ended.
/// @param wake_up An eventfd: look at `table` again.
/// @param orders  A socket: `socket_order`s come here.
[[noreturn]] void run_warden(warden_table& table, warden_role role,
                             int agent_pidfd, int wake_up, int orders);

} // namespace actorrun::detail
