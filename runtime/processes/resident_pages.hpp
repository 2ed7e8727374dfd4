// Keeps in memory what a process needs when files and swap space do not answer.
#pragma once

#include <cstddef>

namespace actorrun::detail {

/// Locks, in this order: the bytes at `data`, the pages of the stack, and all pages of
/// programs and libraries that this process has touched. A fork has none of these from
/// its parent: so call it in one, after a rehearsal of what is to work later.
/// Async-signal-safe.
/// @returns 0, or the errno of the first refusal, with which it ends
int lock_touched_pages(const void* data, size_t size) noexcept;

} // namespace actorrun::detail
