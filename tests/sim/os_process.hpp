// Simulates a process: it lives, sleeps and dies.
#pragma once

#include "tests/sim/event_queue.hpp"

#include <chrono>
#include <deque>
#include <vector>

namespace actorrun::sim {

/// Delay between the mailboxes of two actors of one process.
inline constexpr auto mailbox_delay
  = core::duration{std::chrono::microseconds{5}};

/// For how long a machine may have been on when its process starts.
inline constexpr auto uptime_max = core::duration{std::chrono::hours{1'000}};

/// An action that is posted to it runs at once, or when it is resumed, or
/// never.
class os_process {
public:
  explicit os_process(event_queue& queue) : queue_(queue) {}
  os_process(const os_process&) = delete;
  os_process& operator=(const os_process&) = delete;

  bool alive() const { return alive_; }
  bool paused() const { return paused_; }

  void post(action what);

  /// Posts an action at `due`.
  void at(core::time_point due, action what);
  void after(core::duration delay, action what) {
    at(queue_.now() + delay, std::move(what));
  }

  /// Stops it (SIGSTOP).
  void pause() {
    paused_ = true;
    ++pause_count_;
  }
  uint32_t pause_count() const { return pause_count_; }

  /// Resumes it (SIGCONT): pending actions run now, in the order of arrival.
  void resume();

  /// Ends it, by SIGKILL or by itself; then the system runs `on_death`.
  void kill();
  void on_death(action what) { on_death_.push_back(std::move(what)); }

private:
  event_queue& queue_;
  bool alive_ = true;
  bool paused_ = false;
  uint32_t pause_count_ = 0;
  std::deque<action> inbox_;
  std::vector<action> on_death_;
};

} // namespace actorrun::sim
