// Makes room for the descriptors that this process is going to have.
#pragma once

#include <cstddef>

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

/// Raises the limit as far as the system allows: the usual soft limit of 1,024 is for
/// programs that use select(2), and what we start may be such programs.
/// @pre there is no other thread yet
void raise_descriptor_limit();

/// Gives a child its parent's limit from before `raise_descriptor_limit`.
/// Async-signal-safe.
void restore_descriptor_limit() noexcept;

} // namespace actorrun::detail
