// Receives signals on the main thread.
#pragma once

#include "cli/signal_echoes.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace actorrun::cli {

/// What `signal_inbox::next` returns.
struct received_signal {
  enum class origin {
    system,       ///< This process got it.
    ordered,      ///< A notice asks to end by it.
    forwarded,    ///< A notice has it for the workers.
    disconnected, ///< No notice comes any more; it stands for SIGHUP.
    parent, ///< The program that has started us is gone; it stands for SIGTERM.
  };
  int signal = 0; ///< 0: none.
  origin from = origin::system;
};

/// Signals as descriptors. One per program.
class signal_inbox {
public:
  /// Blocks these signals in this thread and in all threads that it starts later, so
  /// construct it first. Other signals keep their effect, except SIGPIPE, which is
  /// ignored.
  /// @param ending One of these that comes on a second way (`signal_echoes`) is left
  ///               out.
  /// @param others Each of these counts.
  explicit signal_inbox(const std::vector<int>& ending,
                        const std::vector<int>& others = {});
  ~signal_inbox();

  signal_inbox(const signal_inbox&) = delete;
  signal_inbox& operator=(const signal_inbox&) = delete;

  using milliseconds = std::chrono::milliseconds;

  /// Blocks until a signal has come, `wake_up` was called or the time has passed.
  /// @param timeout Negative: none.
  /// @returns the signal's number, or 0
  int wait(milliseconds timeout = milliseconds{-1});

  /// The same, with where it is from.
  received_signal next(milliseconds timeout = milliseconds{-1});

  /// Takes notices from a connection, too (`core::agent_notice`), until its end, or
  /// until nothing has come for `core::life_sign_wait`.
  /// @param rest What has come from there already.
  void listen(int connection, std::string rest);

  /// Tells once when the other side has closed this pipe or socket, of which nothing is
  /// read. Processes that are started do not inherit it from now on.
  void watch_parent(int descriptor);

  /// Ends `wait`, this one or the next. Callable from any thread.
  void wake_up();

private:
  using clock = std::chrono::steady_clock;

  received_signal take_notice();
  void read_connection();
  void hang_up();

  bool counts(int signal, int64_t sender);

  int signals_;
  int wake_up_;
  int parent_ = -1; ///< -1: none, or the other side has closed it.
  std::vector<int> ending_;
  signal_echoes echoes_;
  int connection_ = -1; ///< -1: none, or it has ended.
  bool is_cut_off_ = false;
  clock::time_point heard_{}; ///< When something has last come from there.
  std::string bytes_{};       ///< Of notices.
};

} // namespace actorrun::cli
