// Owns the process's connection to the timer server: one FIFO, opened once.
#pragma once

#include "runtime/worker/timers.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace actorrun::worker {

/// Writes lines to the FIFO, each in one piece and in the order of each thread.
///
/// When the FIFO is full, a line waits for up to a millisecond for room. A line
/// that gets none goes into the outbox; a thread, which exists as long as there
/// is something in it, sends it later. For a lost release, or a lost renewal,
/// would kill a worker that has done nothing wrong. Only when the outbox is full
/// as well is a line lost.
///
/// Lives as long as the process: threads may still use it when it exits.
class timer_channel {
public:
  static timer_channel& instance();

  timer_status configure(const std::string& path, int signal);

  /// Whether the FIFO has a reader. Opens it with the first call, and tries
  /// again once per second if it has none.
  bool is_open() {
    return state_.load(std::memory_order_acquire) == state::open
           || (state_.load(std::memory_order_acquire) != state::absent
               && reopen());
  }

  /// @param line With its end, at most PIPE_BUF bytes.
  /// @pre `is_open()` was true
  timer_status send(std::string_view line);

  /// Of this process, also after a fork.
  pid_t pid() const { return pid_.load(std::memory_order_relaxed); }

  int signal() const { return signal_.load(std::memory_order_relaxed); }

  uint64_t lost_count() const {
    return lost_count_.load(std::memory_order_relaxed);
  }

private:
  using clock = std::chrono::steady_clock;

  enum class state : uint8_t {
    unknown, ///< The environment has not been read.
    absent,  ///< There is no path.
    closed,  ///< It has no reader, or has lost it.
    open,
  };

  timer_channel();
  bool reopen();
  timer_status open_locked();
  void take_over(int fd);
  void give_up();
  bool flush_locked();
  std::optional<timer_status> try_locked(std::string_view line);
  void wait_for_room(clock::time_point until) const;
  timer_status post_locked(std::string_view line);
  void start_helper();
  void run_helper();
  void forget_parent();

  std::atomic<state> state_{state::unknown};
  /// Never closed but by a forked child: another file could get its number while a
  /// thread writes. A FIFO that is opened later takes over the number.
  std::atomic<int> fd_{-1};
  std::atomic<pid_t> pid_;
  std::atomic<int> signal_;
  std::atomic<uint64_t> lost_count_{0};
  std::atomic<bool> has_outbox_{false};

  std::mutex mutex_; ///< For what follows.
  std::string path_;
  dev_t device_ = 0; ///< With the next: which FIFO has the descriptor.
  ino_t inode_ = 0;
  bool is_configured_ = false; ///< The path is not from the environment.
  clock::time_point next_try_{};
  std::string outbox_; ///< Lines that wait.
  bool has_helper_ = false;
  clock::time_point progress_at_{}; ///< When the FIFO last took a waiting line.
};

} // namespace actorrun::worker
