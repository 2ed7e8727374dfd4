#include "runtime/os/readiness.hpp"

#include "runtime/os/reactor_part.hpp"

#include <utility>

#include <sys/epoll.h>

namespace actorrun::detail {

readiness::readiness(reactor& loop, int fd)
  : loop_(loop), fd_(fd), alive_(std::make_shared<bool>(true)) {}

readiness::~readiness() {
  run_and_wait(loop_, [this] {
    *alive_ = false;
    loop_.unwatch(fd_);
  });
}

void readiness::call_once(std::function<void()> fn) {
  loop_.post([this, alive = alive_, fn = std::move(fn)]() mutable {
    if (*alive && !call_)
      arm(std::move(fn));
  });
}

void readiness::arm(std::function<void()> fn) {
  call_ = std::move(fn);
  if (std::exchange(is_watched_, true))
    loop_.rewatch(fd_, EPOLLIN | EPOLLONESHOT);
  else
    loop_.watch(fd_, EPOLLIN | EPOLLONESHOT, [this](uint32_t) { on_ready(); });
}

void readiness::on_ready() {
  if (const auto fn = std::exchange(call_, {}))
    fn();
}

} // namespace actorrun::detail
