// Receives signals on the main thread.
#pragma once

#include <chrono>
#include <vector>

namespace actorrun::cli {

/// Signals as descriptors. One per program.
class signal_inbox {
public:
  /// Blocks `signals` in this thread and in all threads that it starts later, so
  /// construct it first. Other signals keep their effect, except SIGPIPE, which is
  /// ignored.
  explicit signal_inbox(const std::vector<int>& signals);
  ~signal_inbox();

  signal_inbox(const signal_inbox&) = delete;
  signal_inbox& operator=(const signal_inbox&) = delete;

  using milliseconds = std::chrono::milliseconds;

  /// Blocks until a signal has come, `wake_up` was called or the time has passed.
  /// @param timeout Negative: none.
  /// @returns the signal's number, or 0
  int wait(milliseconds timeout = milliseconds{-1});

  /// Ends `wait`, this one or the next. Callable from any thread.
  void wake_up();

private:
  int signals_;
  int wake_up_;
};

} // namespace actorrun::cli
