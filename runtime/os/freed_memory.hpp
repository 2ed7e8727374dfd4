// Returns memory that was freed to the system.
#pragma once

#include <chrono>

namespace actorrun::detail {

/// Sets how long malloc keeps what was freed; starts a thread that returns it then.
/// Without jemalloc nothing happens.
void keep_freed_memory_for(std::chrono::milliseconds time);

/// At once, all of it, also what lies between what is still used.
void return_freed_memory();

} // namespace actorrun::detail
