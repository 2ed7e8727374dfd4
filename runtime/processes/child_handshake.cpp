#include "runtime/processes/child_handshake.hpp"

#include <array>
#include <cerrno>

#include <sys/socket.h>

namespace actorrun::detail {

std::optional<child_handshake> child_handshake::open() {
  auto fds = std::array<int, 2>{};
  const auto type = SOCK_SEQPACKET | SOCK_CLOEXEC;
  if (::socketpair(AF_UNIX, type, 0, fds.data()) != 0)
    return std::nullopt;
  return child_handshake{unique_fd{fds[0]}, unique_fd{fds[1]}};
}

// An agent that does not listen any more is noticed by `await_go`.
void send_report(int fd, const child_report& report) noexcept {
  (void)::send(fd, &report, sizeof report, MSG_NOSIGNAL);
}

bool await_go(int fd) noexcept {
  for (;;) {
    auto go = char{};
    const auto size = ::recv(fd, &go, sizeof go, 0);
    if (size >= 0 || errno != EINTR)
      return size == sizeof go;
  }
}

std::optional<child_report> take_report(int fd) noexcept {
  auto report = child_report{};
  const auto size = ::recv(fd, &report, sizeof report, MSG_DONTWAIT);
  if (size == sizeof report)
    return report;
  if (size < 0 && (errno == EAGAIN || errno == EINTR))
    return std::nullopt;
  return child_report{.pid = 0, .error = ECONNRESET, .ready = false};
}

// A child that has died meanwhile is noticed by its pidfd.
void send_go(int fd) noexcept {
  const auto go = char{1};
  (void)::send(fd, &go, sizeof go, MSG_NOSIGNAL | MSG_DONTWAIT);
}

} // namespace actorrun::detail
