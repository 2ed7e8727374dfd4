#include "runtime/os/freed_memory.hpp"

#include <cstddef>

#include <malloc.h>
#include <sys/types.h>

/// Null in a program without jemalloc.
extern "C" [[gnu::weak]] int mallctl(const char* name, void* old,
                                     size_t* old_size, void* fresh,
                                     size_t fresh_size);

namespace actorrun::detail {

void keep_freed_memory_for(std::chrono::milliseconds time) {
  if (mallctl == nullptr)
    return;
  auto count = static_cast<ssize_t>(time.count());
  // Best effort: only the speed depends on it, and when memory comes back. Without the
  // thread that is at some later allocation, and a program at rest makes few.
  mallctl("arena.0.dirty_decay_ms", nullptr, nullptr, &count, sizeof count);
  auto thread_count = size_t{1};
  mallctl("max_background_threads", nullptr, nullptr, &thread_count,
          sizeof thread_count);
  auto has_thread = true;
  if (mallctl("background_thread", nullptr, nullptr, &has_thread,
              sizeof has_thread)
      == 0)
    return;
  has_thread = false; // Otherwise what cannot be started is waited for.
  mallctl("background_thread", nullptr, nullptr, &has_thread,
          sizeof has_thread);
}

void return_freed_memory() {
  ::malloc_trim(0);
  if (mallctl != nullptr)
    mallctl("arena.4096.purge", nullptr, nullptr, nullptr, 0); // All arenas.
}

} // namespace actorrun::detail
