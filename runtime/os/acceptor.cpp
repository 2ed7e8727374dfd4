#include "runtime/os/acceptor.hpp"

#include "runtime/os/socket.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

namespace actorrun::detail {

namespace {

// At most this many in a row; then other handlers of the reactor run.
constexpr int accepts_per_round = 64;
constexpr auto pause_without_descriptors = std::chrono::milliseconds{100};

// Without descriptors accept(2) fails whether a connection waits or not.
bool has_waiting(int socket) {
  auto entry = pollfd{socket, POLLIN, 0};
  return ::poll(&entry, 1, 0) == 1;
}

unique_fd open_spare() {
  return unique_fd{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
}

unique_fd accept_from(int socket, socket_address& remote) {
  remote.size = sizeof(remote.storage);
  return unique_fd{::accept4(socket,
                             reinterpret_cast<sockaddr*>(&remote.storage),
                             &remote.size, SOCK_NONBLOCK | SOCK_CLOEXEC)};
}

} // namespace

acceptor::acceptor(reactor& home, unique_fd socket, acceptor_owner owner)
  : home_(home), socket_(std::move(socket)), spare_(open_spare()),
    owner_(std::move(owner)) {}

void acceptor::start() {
  home_.watch(socket_.get(), EPOLLIN, [this](uint32_t) { on_ready(); });
}

void acceptor::stop() {
  home_.cancel(std::exchange(pause_, 0));
  if (socket_)
    home_.unwatch(socket_.get());
  socket_.reset();
  spare_.reset();
}

void acceptor::on_ready() {
  // The owner may destroy this acceptor while it takes a connection.
  const auto self = shared_from_this();
  for (auto i = 0; i < accepts_per_round && socket_; ++i) {
    auto remote = socket_address{};
    auto fd = accept_from(socket_.get(), remote);
    if (fd)
      owner_.on_accept(std::move(fd), remote);
    else if (!may_go_on(errno))
      return;
  }
}

bool acceptor::may_go_on(int error) {
  switch (error) {
    case EAGAIN:
      return false;
    case EMFILE:
    case ENFILE:
      if (!has_waiting(socket_.get()))
        return false;
      if (owner_.make_room() || reject())
        return true;
      pause();
      return false;
    case ENOBUFS:
    case ENOMEM:
      pause();
      return false;
    default:
      // accept(2) also reports connections that broke while they waited.
      return true;
  }
}

bool acceptor::reject() {
  if (!spare_)
    return false;
  spare_.reset();
  auto remote = socket_address{};
  auto fd = accept_from(socket_.get(), remote);
  if (fd) {
    send_whole(fd.get(), owner_.busy_reply);
    // Unread bytes would turn the close into a reset that overtakes the reply.
    auto ignored = std::array<char, 512>{};
    ::recv(fd.get(), ignored.data(), ignored.size(), MSG_DONTWAIT);
  }
  const auto done = static_cast<bool>(fd);
  // Closed before the spare is opened again: there is room for one.
  fd.reset();
  spare_ = open_spare();
  return done;
}

void acceptor::pause() {
  home_.unwatch(socket_.get());
  pause_ = home_.after(pause_without_descriptors, [this] { resume(); });
}

void acceptor::resume() {
  pause_ = 0;
  if (!spare_)
    spare_ = open_spare();
  start();
}

} // namespace actorrun::detail
