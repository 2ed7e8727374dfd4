// Starts threads that take no signals: those are for the main thread.
#pragma once

#include <csignal>
#include <functional>

namespace actorrun::detail {

/// Runs `fn` on a detached thread that takes no signals. `fn` must own what it
/// uses, because the caller may be gone by then.
/// @returns false if the system gives no thread; `fn` does not run then
bool run_aside(std::function<void()> fn);

/// Blocks all signals in this thread as long as it lives. Threads started
/// meanwhile keep them blocked for good.
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
