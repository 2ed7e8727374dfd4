// Carries frames from actors to the thread of their link.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

namespace actorrun::detail {

/// Waits for a peer that does not read: several of the largest messages.
inline constexpr size_t link_outbox_max = size_t{16} << 20;

/// Has one reader. Thread-safe.
class link_outbox {
public:
  /// Calls `fn` when there is something to take, or `is_over`, and then not again
  /// before `take`.
  /// @param fn Called by any thread and under a lock: it may wake up another thread,
  /// and no more. Null: is called no more.
  void on_change(std::function<void()> fn);

  /// What is more than `link_outbox_max` ends the link, and nothing of it leaves. Lost
  /// after `end`.
  void write(std::string_view frame);

  /// No more is written, by either side.
  void end();

  /// @returns all bytes that are there
  std::string take();

  /// Nothing waits: the other side takes what is written.
  bool is_empty();

  /// Ended, and nothing is left to take.
  bool is_over();

private:
  void call();

  std::mutex mutex_;
  std::string bytes_;
  std::function<void()> on_change_;
  bool is_called_ = false; ///< And has not taken since.
  bool has_ended_ = false;
};

} // namespace actorrun::detail
