// Owns the backlog of one standard stream and the thread that writes it.
#pragma once

#include "actors/core/time.hpp"
#include "runtime/logs/console_target.hpp"
#include "runtime/os/unique_fd.hpp"

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace actorrun::detail {

/// In bytes. A backlog smaller than this takes more.
inline constexpr size_t console_backlog_max = 1024 * 1024;

/// In bytes, beyond `console_backlog_max`: room for our own lines when the
/// workers' lines have filled the rest.
inline constexpr size_t console_reserve = 64 * 1024;

/// In bytes. Writers are resumed at this backlog, which keeps the thread busy
/// until they offer more.
inline constexpr size_t console_ready_max = console_backlog_max / 4;

/// Takes lines without ever waiting, and writes them in the order in which it
/// took them.
///
/// The caller of `offer` writes itself as long as the stream takes it, without
/// a thread and without a copy. Only the rest is left to a thread, which starts
/// when it is first needed; and all of it where a write can wait. The lock is never
/// held during such a write. All functions may be called from any thread.
class console_queue {
public:
  using task = std::function<void()>;

  /// The queue for the file that `fd` leads to. There is one per file in this
  /// program, so that all holders share one order.
  /// @param fd May be closed from now on. When the last holder is gone, the
  ///           backlog is lost; that of a file, if it is not written in a second.
  static std::shared_ptr<console_queue> of(int fd);

  explicit console_queue(console_target target) : target_(std::move(target)) {}

  console_queue(const console_queue&) = delete;
  console_queue& operator=(const console_queue&) = delete;

  /// @param lines Whole lines; any size.
  /// @param limit The largest size of the backlog, in bytes.
  /// @returns whether all was taken; else nothing was. A closed stream takes
  ///          everything.
  bool offer(std::string_view lines, size_t limit);

  /// Lines of this program: dropped beyond the reserve, and counted; the count
  /// is written when there is room.
  void note(std::string_view lines);

  /// Calls `fn` once, on the queue's thread, when at most `console_ready_max`
  /// bytes wait. The last call of each `who` counts.
  void call_when_ready(const void* who, task fn);

  /// Cancels the call of `who`. It may be running already.
  void forget(const void* who);

  bool is_closed() const;

  /// Whether the backlog is empty.
  bool is_flushed() const;

  /// Calls `fn` once, on the queue's thread, when nothing waits.
  void call_when_flushed(task fn);

  /// Waits until nothing waits or `due` has come, or `interrupt` was called
  /// after `gave_up` was set.
  bool flush(core::time_point due, const std::atomic<bool>& gave_up);
  void interrupt();

private:
  using guard = std::unique_lock<std::mutex>;

  void stop();
  bool may_wait() const;
  size_t write_through(std::string_view lines);
  bool write_loss();
  bool write_loss(guard& lock);
  void lose(size_t bytes, int error);
  void wake_thread();
  void write_without_thread();
  void run();
  void write_backlog(guard& lock);
  void wait_for_room() const;
  void close();
  bool has_due_calls() const;
  void make_due_calls(guard& lock);

  const console_target target_;
  std::weak_ptr<console_queue> self_;

  mutable std::mutex mutex_; // Guards the rest.
  std::condition_variable changed_;
  std::condition_variable flushed_;
  std::string backlog_;
  std::string writing_; ///< What the thread has taken from the backlog.
  size_t pending_ = 0;  ///< In bytes, of both, that are not written.
  bool closed_ = target_.mode() == write_mode::closed;
  bool stopping_ = false;
  bool enlarged_ = false;
  uint64_t lost_note_count_ = 0;
  uint64_t lost_bytes_ = 0; ///< That a full disk did not take.
  int loss_ = 0;            ///< Why: an errno.
  std::map<const void*, task> on_ready_;
  std::vector<task> on_flushed_;
  unique_fd wake_up_;
  std::thread thread_;
};

} // namespace actorrun::detail
