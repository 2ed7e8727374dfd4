#include "runtime/network/link_outbox.hpp"

#include <utility>

namespace actorrun::detail {

void link_outbox::on_change(std::function<void()> fn) {
  auto last = std::function<void()>{}; // Destroyed without the lock.
  const auto lock = std::lock_guard{mutex_};
  last = std::exchange(on_change_, std::move(fn));
  is_called_ = false;
  if (!bytes_.empty() || has_ended_)
    call();
}

void link_outbox::write(std::string_view frame) {
  const auto lock = std::lock_guard{mutex_};
  if (has_ended_)
    return;
  if (bytes_.size() + frame.size() <= link_outbox_max) {
    bytes_ += frame;
  } else {
    bytes_ = {};
    has_ended_ = true;
  }
  call();
}

void link_outbox::end() {
  const auto lock = std::lock_guard{mutex_};
  if (!std::exchange(has_ended_, true))
    call();
}

std::string link_outbox::take() {
  const auto lock = std::lock_guard{mutex_};
  is_called_ = false;
  return std::exchange(bytes_, {});
}

bool link_outbox::is_empty() {
  const auto lock = std::lock_guard{mutex_};
  return bytes_.empty();
}

bool link_outbox::is_over() {
  const auto lock = std::lock_guard{mutex_};
  return has_ended_ && bytes_.empty();
}

void link_outbox::call() {
  if (on_change_ && !std::exchange(is_called_, true))
    on_change_();
}

} // namespace actorrun::detail
