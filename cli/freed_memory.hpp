// Decides how long our programs keep the memory that they have freed.
#pragma once

#include <cstdint>

namespace actorrun::cli {

/// In a large job, where each message asks again for what the last one has freed: five
/// seconds, instead of half a second as in `allocator.cpp`. Does nothing in a program
/// without jemalloc, and in a small job.
/// @param node_count_max Of the job.
void keep_freed_memory(uint32_t node_count_max);

} // namespace actorrun::cli
