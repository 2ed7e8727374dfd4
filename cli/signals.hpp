// Turns signals into facts that the main thread waits for.
#pragma once

#include "runtime/os/unique_fd.hpp"

#include <vector>

namespace actorrun::cli {

/// Signals as descriptors. One per program.
class signal_inbox {
public:
  /// Blocks `signals` in this thread and all it starts from now on: construct
  /// it before anything that has threads. Others keep their effect, but for
  /// SIGPIPE, which is ignored.
  explicit signal_inbox(const std::vector<int>& signals);

  /// Blocks until a signal has come or `wake_up` was called.
  /// @returns the signal's number, or 0 after `wake_up`
  int wait();

  /// Ends `wait`, this one or the next. Callable from any thread.
  void wake_up();

private:
  detail::unique_fd signals_;
  detail::unique_fd wake_up_;
};

} // namespace actorrun::cli
