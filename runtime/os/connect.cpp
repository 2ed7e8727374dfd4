#include "runtime/os/connect.hpp"

#include "runtime/os/socket.hpp"

#include <cerrno>
#include <utility>

#include <sys/epoll.h>
#include <sys/socket.h>

namespace actorrun::detail {

namespace {

int outcome_of(int fd) {
  auto error = 0;
  auto size = socklen_t{sizeof(error)};
  if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
    return errno;
  return error == 0 && is_connected_to_itself(fd) ? ECONNREFUSED : error;
}

} // namespace

dial::dial(reactor& home, const socket_address& where, callback on_done)
  : home_(home), on_done_(std::move(on_done)) {
  fd_.reset(
    ::socket(where.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  auto error = 0;
  if (!fd_ || ::connect(fd_.get(), where.get(), where.size) != 0)
    error = errno;
  if (error == EINPROGRESS || error == EINTR) {
    watched_ = true;
    home_.watch(fd_.get(), EPOLLOUT, [this](uint32_t) { on_writable(); });
    return;
  }
  if (error == 0)
    error = outcome_of(fd_.get());
  soon_ = home_.after(core::duration{0}, [this, error] {
    soon_ = 0;
    finish(error);
  });
}

dial::~dial() {
  home_.cancel(soon_);
  if (watched_)
    home_.unwatch(fd_.get());
}

void dial::on_writable() {
  finish(outcome_of(fd_.get()));
}

void dial::finish(int error) {
  if (std::exchange(watched_, false))
    home_.unwatch(fd_.get());
  if (error != 0)
    fd_.reset();
  const auto on_done = std::exchange(on_done_, nullptr);
  on_done(error, std::move(fd_));
}

} // namespace actorrun::detail
