// Turns the signals that end a program into facts that the main thread waits
// for.
#pragma once

#include "actorrun/runtime/detail/unique_fd.hpp"

namespace actorrun::cli {

/// SIGTERM, SIGINT, SIGHUP and SIGQUIT, as descriptors. One per program.
class signal_inbox {
public:
  /// Blocks the signals in this thread and all it starts from now on: construct
  /// it before anything that has threads. SIGPIPE is ignored, too.
  signal_inbox();

  /// Blocks until a signal has come or `wake_up` was called.
  /// @returns the signal's number, or 0 after `wake_up`
  int wait();

  /// Ends `wait`. Callable from any thread.
  void wake_up();

private:
  detail::unique_fd signals_;
  detail::unique_fd wake_up_;
};

} // namespace actorrun::cli
