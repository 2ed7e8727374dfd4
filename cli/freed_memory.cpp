#include "cli/freed_memory.hpp"

#include <cstddef>

#include <sys/types.h>

/// Null in a program without jemalloc.
extern "C" [[gnu::weak]] int mallctl(const char* name, void* old,
                                     size_t* old_size, void* fresh,
                                     size_t fresh_size);

namespace actorrun::cli {

namespace {

constexpr auto large_job_min = uint32_t{1'000}; // nodes
constexpr auto kept_for = ssize_t{5'000};       // milliseconds

} // namespace

void keep_freed_memory(uint32_t node_count_max) {
  if (node_count_max < large_job_min || mallctl == nullptr)
    return;
  auto time = kept_for;
  // Without it changes of the group only take longer.
  mallctl("arena.0.dirty_decay_ms", nullptr, nullptr, &time, sizeof time);
}

} // namespace actorrun::cli
