// Makes room for the descriptors that this process is going to have.
#pragma once

#include <cstddef>
#include <cstdint>

namespace actorrun::detail {

/// Enlarges the process's table of descriptors, if it has room for less.
///
/// The system does that by itself, twice the size each time; but in a process
/// with threads it then halts the one that asks for the descriptor until every
/// processor has been through its scheduler: for 5 to 30 ms where they idle.
/// Without threads it takes microseconds.
/// @param open  Any open descriptor.
/// @param count How many there will be; no more than this process may have
///              count.
void make_descriptor_room(int open, size_t count);

/// How many descriptors those may have that connect to us: all bounds together stay
/// below the limit, so that there are always some for the start of a worker.
struct descriptor_shares {
  /// Peers on their way to a link with the coordinator, in each of three stages.
  size_t pending = 0;
  size_t standby = 0; ///< Linked agents beyond the job's maximum.
  /// Agents that ask a voter who leads, half of them on their way to a link.
  size_t questions = 0;
  size_t viewers = 0; ///< Clients of all HTTP ports; and as many operators.
  size_t store = 0;   ///< Clients of torch's store.
};

/// For our own files, pipes, processes and workers. With a small limit it is half of
/// that.
inline constexpr uint64_t descriptor_reserve = 64;

/// @param limit Of the process, RLIMIT_NOFILE.
descriptor_shares shares_of(uint64_t limit);

/// The same for the limit as it is now.
descriptor_shares descriptor_shares_now();

/// Raises the limit as far as the system allows: the usual soft limit of 1,024 is for
/// programs that use select(2), and what we start may be such programs.
/// @pre there is no other thread yet
void raise_descriptor_limit();

/// Gives a child its parent's limit from before `raise_descriptor_limit`.
/// Async-signal-safe.
void restore_descriptor_limit() noexcept;

} // namespace actorrun::detail
