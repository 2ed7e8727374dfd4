// Keeps signals away from threads of our own: they are for the main thread, and
// a library's thread must not run its handlers.
#pragma once

#include <csignal>

namespace actorrun::detail {

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
