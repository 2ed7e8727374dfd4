// Work that may hang in a driver: it gets a thread that nobody waits for.
#pragma once

#include <functional>

namespace actorrun::detail {

/// Runs `fn` on a thread of its own that gets no signals and that nobody joins.
/// What `fn` touches must be owned by it: the caller may be gone by then.
/// @returns false if the system gives no thread; `fn` does not run then
bool run_aside(std::function<void()> fn);

} // namespace actorrun::detail
