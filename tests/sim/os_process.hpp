// A process of the simulated system: it lives, sleeps and dies.
#pragma once

#include "tests/sim/event_queue.hpp"

#include <deque>
#include <vector>

namespace actorrun::sim {

/// What is posted to it runs at once, when it is resumed, or never.
class os_process {
public:
  explicit os_process(event_queue& queue) : queue_(queue) {}
  os_process(const os_process&) = delete;
  os_process& operator=(const os_process&) = delete;

  bool alive() const { return alive_; }
  bool paused() const { return paused_; }

  void post(action what);

  /// Posts at `due`.
  void at(core::time_point due, action what);
  void after(core::duration delay, action what) {
    at(queue_.now() + delay, std::move(what));
  }

  /// SIGSTOP.
  void pause() { paused_ = true; }

  /// SIGCONT: what has come in meanwhile runs now, in the order of arrival.
  void resume();

  /// It ends, by SIGKILL or by itself; then the system does `on_death`.
  void kill();
  void on_death(action what) { on_death_.push_back(std::move(what)); }

private:
  event_queue& queue_;
  bool alive_ = true;
  bool paused_ = false;
  std::deque<action> inbox_;
  std::vector<action> on_death_;
};

} // namespace actorrun::sim
