// Owns the OS-event thread: one epoll loop for descriptors, timers and tasks.
#pragma once

#include "actors/core/time.hpp"
#include "runtime/os/unique_fd.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

namespace actorrun::detail {

/// Runs handlers, one at a time, on one thread that lives as long as the
/// object. Sleeps until something happens; wakes up for nothing else.
///
/// A death signal is bound to the thread that started the child, so every
/// worker is started here. All signals are blocked in the thread.
///
/// Handlers must not block and must not throw. A handler may call anything
/// here, also `unwatch` and `cancel` for itself or for others, and close
/// descriptors it has unwatched: events that were already fetched for a watch
/// that is gone are dropped.
class reactor {
public:
  using task = std::function<void()>;
  /// Takes the epoll events that are ready (`EPOLLIN` | …).
  using handler = std::function<void(uint32_t)>;
  /// Names one call of `after`; 0 names none.
  using timer = uint64_t;

  /// Starts the thread. Aborts if the system has no descriptor or thread left:
  /// nothing can be run without it.
  reactor();

  /// Runs the tasks that were posted before, then ends and joins the thread,
  /// then destroys the handlers that are left. Descriptors stay open.
  /// @pre not called on the thread itself
  ~reactor();

  reactor(const reactor&) = delete;
  reactor& operator=(const reactor&) = delete;

  // -- from any thread --------------------------------------------------------

  /// Runs `fn` on the thread, after all that was posted before. Never inline,
  /// not even on the thread itself: there it runs in the next round.
  void post(task fn);

  /// Says whether the caller runs on the reactor's thread.
  bool on_thread() const;

  // -- on the thread only -----------------------------------------------------

  /// Calls `fn` whenever `fd` is ready for one of `events` (level-triggered
  /// unless `EPOLLET` is among them). `EPOLLERR` and `EPOLLHUP` always count.
  /// @pre `fd` is open, epoll can watch it, and it is not watched yet
  void watch(int fd, uint32_t events, handler fn);

  /// Waits for other events from now on. @pre `fd` is watched
  void rewatch(int fd, uint32_t events);

  /// Ends a watch; does nothing without one. Call it before closing `fd`.
  void unwatch(int fd);

  /// Calls `fn` once, `delay` from now or a little later.
  timer after(core::duration delay, task fn);

  /// Does nothing when `id` has run, was cancelled or is 0.
  void cancel(timer id);

  /// Calls `fn` once, when every handler of this round has run and before the
  /// thread sleeps again: the place to hand on in one go what a round brought.
  /// What is added by such a call runs in the same round.
  void at_end_of_round(task fn);

private:
  void run();
  void wait_and_dispatch();
  void dispatch(uint64_t token, uint32_t events);
  bool run_tasks();
  void run_timers();
  void run_end_of_round();
  int sleep_ms() const;

  unique_fd epoll_;
  unique_fd wake_up_;

  std::mutex mutex_;
  std::deque<task> tasks_; // Guarded by mutex_.
  bool stopping_ = false;  // Guarded by mutex_.

  // The rest belongs to the thread.
  uint64_t last_token_ = 0;
  std::unordered_map<int, uint64_t> tokens_;
  // Shared, so that a handler can end its own watch while it runs.
  std::unordered_map<uint64_t, std::shared_ptr<handler>> watches_;
  timer last_timer_ = 0;
  std::map<std::pair<core::time_point, timer>, task> timers_;
  std::unordered_map<timer, core::time_point> due_;
  std::vector<task> end_of_round_;

  std::thread thread_;
};

} // namespace actorrun::detail
