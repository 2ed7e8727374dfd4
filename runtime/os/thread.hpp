// Starts threads of our own: without signals, which are for the main thread, and
// detached where nobody waits for them.
#pragma once

#include <csignal>
#include <functional>

namespace actorrun::detail {

/// Runs `fn` on a thread of its own that gets no signals and that nobody joins.
/// What `fn` touches must be owned by it: the caller may be gone by then.
/// @returns false if the system gives no thread; `fn` does not run then
bool run_aside(std::function<void()> fn);

/// While it lives, this thread takes no signals, and neither does for good any
/// thread that it starts.
class signals_blocked {
public:
  signals_blocked() {
    auto all = sigset_t{};
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }

  ~signals_blocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  signals_blocked(const signals_blocked&) = delete;
  signals_blocked& operator=(const signals_blocked&) = delete;

private:
  sigset_t before_{};
};

} // namespace actorrun::detail
