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
/// object. Sleeps until an event, a task or a timer is due.
///
/// A death signal is bound to the thread that started the child, so workers are
/// forked here. All signals are blocked in the thread.
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

  /// Starts the thread. Aborts if the system has no descriptor or thread left,
  /// because nothing can run without it.
  reactor();

  /// Runs the tasks that were posted before, joins the thread and destroys the
  /// remaining handlers. Descriptors stay open.
  /// @pre not called on the thread itself
  ~reactor();

  reactor(const reactor&) = delete;
  reactor& operator=(const reactor&) = delete;

  // -- from any thread --------------------------------------------------------

  /// Runs `fn` on the thread, after all earlier posts. Never runs it inline:
  /// posted on the thread itself, it runs in the next round.
  void post(task fn);

  /// Whether the caller runs on the reactor's thread.
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

  /// Says that the event of this call could have come later. When that is so of all
  /// events for a while, each round is followed by a pause in which input of watches
  /// that have said so is not looked at: more comes together then, and waking up
  /// costs more than most of it. Everything else ends the pause at once: the end of
  /// their input, room for their output, other watches, tasks, timers.
  /// @param pause At least a millisecond. Less: it could not have come later.
  /// @pre called by a handler, once
  void could_wait(core::duration pause);

  /// Calls `fn` once, when every handler of this round has run and before the
  /// thread sleeps again: use it to pass on all results of a round at once.
  /// Calls that such a call adds run in the same round.
  void at_end_of_round(task fn);

private:
  struct watched {
    handler call;
    int fd;                    ///< -1: the watch has ended.
    uint32_t events;           ///< Waited for.
    bool is_unhurried = false; ///< Its input could wait at least once.
  };

  static uint32_t hurried_events(const watched& x);
  void hurry(int operation, int fd, uint32_t events);
  void begin_pauses();
  void run();
  void pause();
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
  std::unordered_map<uint64_t, std::shared_ptr<watched>> watches_;
  watched* current_ = nullptr; ///< Whose handler runs; null: none.
  unique_fd
    hurried_; ///< Another epoll, of what ends a pause; none: none is made.
  timer last_timer_ = 0;
  std::map<std::pair<core::time_point, timer>, task> timers_;
  std::unordered_map<timer, core::time_point> due_;
  std::vector<task> end_of_round_;
  int unhurried_count_
    = 0;             ///< Events of this round that could have come later, …
  int pause_ms_ = 0; ///< … so much.
  core::time_point calm_from_{}; ///< Until then no pause is made.

  std::thread thread_;
};

/// A watch on the reactor that is armed only while a call waits for it:
/// otherwise data that arrives at the descriptor wakes no thread up.
class readiness {
public:
  /// @param loop Lives longer.
  /// @param fd   Stays open as long.
  readiness(reactor& loop, int fd);

  /// No call is made from then on.
  ~readiness();

  readiness(const readiness&) = delete;
  readiness& operator=(const readiness&) = delete;

  /// Calls `fn` on the reactor's thread as soon as there is something to read.
  /// Does nothing if a call waits already. Any thread may call it.
  void call_once(std::function<void()> fn);

private:
  void arm(std::function<void()> fn);
  void on_ready();

  reactor& loop_;
  int fd_;
  std::shared_ptr<bool> alive_; ///< The rest belongs to the reactor's thread.
  bool is_watched_ = false;
  std::function<void()> call_; ///< Empty: none waits.
};

/// Makes an object that runs on a reactor share its ownership, because an actor
/// may be the last to release the object. Null stays null.
template <class T>
std::shared_ptr<T> keep(std::unique_ptr<T> x, std::shared_ptr<reactor> loop) {
  if (!x)
    return nullptr;
  return {x.release(), [loop = std::move(loop)](T* y) { delete y; }};
}

/// An object with watches and timers on a reactor.
class reactor_part {
public:
  virtual ~reactor_part() = default;

  /// Called once, on the reactor's thread, unless `stop` came first.
  virtual void start() = 0;

  /// Ends every watch and timer and closes all descriptors; no callback is
  /// called from then on. On the reactor's thread; may be called more than
  /// once.
  virtual void stop() = 0;
};

/// Owns a part; its destructor stops the part. It waits for the reactor's
/// thread, so hold no lock that a callback of the part takes.
class reactor_handle {
public:
  reactor_handle() = default;

  /// Starts `part` soon. @pre `home` outlives the handle
  reactor_handle(reactor& home, std::shared_ptr<reactor_part> part);

  reactor_handle(reactor_handle&& other) noexcept = default;
  reactor_handle& operator=(reactor_handle&& other) noexcept;
  ~reactor_handle() { reset(); }

  /// Stops the part now.
  void reset();

  explicit operator bool() const { return part_ != nullptr; }

private:
  reactor* home_ = nullptr;
  std::shared_ptr<reactor_part> part_;
};

/// Runs `fn` on the reactor's thread and returns when it is done.
void run_and_wait(reactor& home, const reactor::task& fn);

} // namespace actorrun::detail
