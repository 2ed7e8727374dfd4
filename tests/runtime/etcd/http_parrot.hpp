// Minimal HTTP servers on loopback.
#pragma once

#include "tests/support/catch.hpp"

#include <cstdint>
#include <string>
#include <thread>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace actorrun::detail::test_http {

/// Accepts all connections and never sends anything.
class mute_server {
public:
  mute_server() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    auto address = sockaddr_in{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto size = socklen_t{sizeof address};
    auto* x = reinterpret_cast<sockaddr*>(&address);
    REQUIRE(::bind(fd_, x, size) == 0);
    REQUIRE(::getsockname(fd_, x, &size) == 0);
    REQUIRE(::listen(fd_, 8) == 0);
    port_ = ntohs(address.sin_port);
  }

  mute_server(const mute_server&) = delete;
  mute_server& operator=(const mute_server&) = delete;
  ~mute_server() { ::close(fd_); }

  int get() const { return fd_; }
  uint16_t port() const { return port_; }

private:
  int fd_;
  uint16_t port_ = 0;
};

/// Gives a fixed answer to one request, and closes the connection.
class parrot {
public:
  explicit parrot(std::string answer)
    : thread_([this, answer = std::move(answer)] { say(answer); }) {}

  parrot(const parrot&) = delete;
  parrot& operator=(const parrot&) = delete;
  ~parrot() { thread_.join(); }

  uint16_t port() const { return listener_.port(); }
  const std::string& heard() const { return heard_; }

private:
  void say(const std::string& answer) {
    auto news = pollfd{listener_.get(), POLLIN, 0};
    if (::poll(&news, 1, 20'000) != 1)
      return;
    const auto fd = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
    char buffer[4'096];
    // All requests end with the brace that closes the body.
    while (heard_.empty() || heard_.back() != '}') {
      const auto n = ::read(fd, buffer, sizeof buffer);
      if (n <= 0)
        break;
      heard_.append(buffer, size_t(n));
    }
    for (size_t sent = 0; sent < answer.size();) {
      const auto n
        = ::send(fd, answer.data() + sent, answer.size() - sent, MSG_NOSIGNAL);
      if (n <= 0)
        break;
      sent += size_t(n);
    }
    ::close(fd);
  }

  mute_server listener_;
  std::string heard_; ///< Read it only after the answer.
  std::thread thread_;
};

inline std::string http(const std::string& status, const std::string& body) {
  return "HTTP/1.1 " + status + "\r\nContent-Length: "
         + std::to_string(body.size()) + "\r\n\r\n" + body;
}

} // namespace actorrun::detail::test_http
