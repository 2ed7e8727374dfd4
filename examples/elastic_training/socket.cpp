#include "socket.hpp"

#include "fail.hpp"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace training {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Interval between two attempts to connect.
constexpr auto connect_pause = milliseconds{20};

// Interval at which a wait is looked at.
constexpr auto look_pause = milliseconds{50};

using address_list = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

address_list resolve(const std::string& host, uint16_t port) {
  auto hints = addrinfo{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* first = nullptr;
  const auto error
    = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &first);
  if (error != 0)
    fail("cannot resolve MASTER_ADDR=" + host + ": " + gai_strerror(error));
  return {first, &freeaddrinfo};
}

socket_handle open_for(const addrinfo& address) {
  return socket_handle{
    socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
}

bool set_option(const socket_handle& x, int level, int name, int value) {
  return setsockopt(x.get(), level, name, &value, sizeof(value)) == 0;
}

// Waits for readiness; false if the limit passes first.
bool wait_within(const limit& x, const socket_handle& handle, short events) {
  while (!x.is_off()) {
    const auto left
      = std::chrono::ceil<milliseconds>(x.until - steady_clock::now());
    const auto time = std::clamp(left, milliseconds{0}, look_pause);
    auto entry = pollfd{handle.get(), events, 0};
    const auto ready = poll(&entry, 1, static_cast<int>(time.count()));
    if (ready > 0)
      return true;
    if (ready == 0 && left <= milliseconds{0})
      return false;
    if (ready < 0 && errno != EINTR)
      fail_errno("poll");
  }
  return false;
}

bool connects(const limit& within, const socket_handle& x, const addrinfo& to) {
  if (connect(x.get(), to.ai_addr, to.ai_addrlen) == 0)
    return true;
  if (errno != EINPROGRESS || !wait_within(within, x, POLLOUT))
    return false;
  auto error = 0;
  auto size = socklen_t{sizeof(error)};
  getsockopt(x.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  return error == 0;
}

// After a call that has failed.
bool may_go_on(const limit& x, const socket_handle& peer, short events) {
  return errno == EINTR || (errno == EAGAIN && wait_within(x, peer, events));
}

} // namespace

socket_handle::socket_handle(socket_handle&& other) noexcept
  : descriptor_(std::exchange(other.descriptor_, -1)) {}

socket_handle& socket_handle::operator=(socket_handle&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

socket_handle::~socket_handle() {
  if (descriptor_ >= 0)
    close(descriptor_);
}

socket_handle listen_at(const std::string& host, uint16_t port, int backlog) {
  const auto addresses = resolve(host, port);
  for (const auto* x = addresses.get(); x != nullptr; x = x->ai_next) {
    auto listener = open_for(*x);
    // The port of the previous generation may still be in TIME_WAIT.
    if (listener.get() >= 0 && set_option(listener, SOL_SOCKET, SO_REUSEADDR, 1)
        && bind(listener.get(), x->ai_addr, x->ai_addrlen) == 0
        && listen(listener.get(), backlog) == 0)
      return listener;
  }
  fail_errno("cannot listen at MASTER_ADDR " + host + " port "
             + std::to_string(port));
}

std::optional<socket_handle> accept_within(const limit& x,
                                           const socket_handle& listener) {
  while (wait_within(x, listener, POLLIN)) {
    auto peer = socket_handle{
      accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
    // A peer may have closed between the wait and the accept.
    if (peer.get() >= 0) {
      set_option(peer, IPPROTO_TCP, TCP_NODELAY, 1);
      return peer;
    }
  }
  return std::nullopt;
}

std::optional<socket_handle>
connect_within(const limit& x, const std::string& host, uint16_t port) {
  const auto addresses = resolve(host, port);
  for (;;) {
    for (const auto* to = addresses.get(); to != nullptr; to = to->ai_next) {
      auto peer = open_for(*to);
      if (peer.get() >= 0 && connects(x, peer, *to)) {
        set_option(peer, IPPROTO_TCP, TCP_NODELAY, 1);
        return peer;
      }
    }
    if (x.is_off() || steady_clock::now() + connect_pause >= x.until)
      return std::nullopt;
    std::this_thread::sleep_for(connect_pause);
  }
}

bool send_all(const limit& x, const socket_handle& peer,
              std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto count
      = send(peer.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count > 0)
      bytes = bytes.subspan(static_cast<size_t>(count));
    else if (count == 0 || !may_go_on(x, peer, POLLOUT))
      return false;
  }
  return true;
}

bool receive_all(const limit& x, const socket_handle& peer,
                 std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const auto count = recv(peer.get(), bytes.data(), bytes.size(), 0);
    if (count > 0)
      bytes = bytes.subspan(static_cast<size_t>(count));
    else if (count == 0 || !may_go_on(x, peer, POLLIN))
      return false;
  }
  return true;
}

} // namespace training
