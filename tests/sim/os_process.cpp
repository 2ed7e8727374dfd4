#include "tests/sim/os_process.hpp"

namespace actorrun::sim {

void os_process::post(action what) {
  if (!alive_)
    return;
  if (paused_ || !inbox_.empty())
    inbox_.push_back(std::move(what));
  else
    what();
}

void os_process::at(core::time_point due, action what) {
  queue_.at(due, [this, what = std::move(what)] { post(what); });
}

void os_process::resume() {
  paused_ = false;
  while (alive_ && !paused_ && !inbox_.empty()) {
    const auto next = std::move(inbox_.front());
    next();
    if (!inbox_.empty())
      inbox_.pop_front();
  }
}

void os_process::kill() {
  if (!alive_)
    return;
  alive_ = false;
  inbox_.clear();
  for (const auto& what : on_death_)
    what();
}

} // namespace actorrun::sim
