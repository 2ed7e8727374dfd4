#include "runtime/os/reactor_part.hpp"

#include <future>
#include <utility>

namespace actorrun::detail {

door_handle::door_handle(reactor& home, std::shared_ptr<door_part> part)
  : home_(&home), part_(std::move(part)) {
  home.post([started = part_] { started->start(); });
}

door_handle& door_handle::operator=(door_handle&& other) noexcept {
  if (this != &other) {
    reset();
    home_ = other.home_;
    part_ = std::move(other.part_);
  }
  return *this;
}

void door_handle::reset() {
  const auto part = std::exchange(part_, nullptr);
  if (part)
    run_and_wait(*home_, [&] { part->stop(); });
}

void run_and_wait(reactor& home, const reactor::task& fn) {
  if (home.on_thread()) {
    fn();
    return;
  }
  auto done = std::promise<void>{};
  home.post([&] {
    fn();
    done.set_value();
  });
  done.get_future().wait();
}

} // namespace actorrun::detail
