// Plays a client of HTTP for tests.
#pragma once

#include "runtime/os/unique_fd.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

namespace actorrun::detail::test {

/// Connected to 127.0.0.1; closed at its end.
class http_client {
public:
  explicit http_client(uint16_t port, int receive_buffer = 0) {
    fd_ = unique_fd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    if (receive_buffer != 0)
      ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer,
                   sizeof receive_buffer);
    auto where = sockaddr_in{};
    where.sin_family = AF_INET;
    where.sin_port = htons(port);
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    is_connected_
      = ::connect(fd_.get(), reinterpret_cast<sockaddr*>(&where), sizeof where)
        == 0;
  }

  bool is_connected() const { return is_connected_; }

  void send(std::string_view bytes) {
    ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }

  void get(const std::string& path, const std::string& host = "localhost") {
    send("GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
  }

  /// Reads until `end` has come; empty if that takes too long or never comes.
  std::string read_to(std::string_view end) {
    while (input_.find(end) == std::string::npos)
      if (!read_some())
        return {};
    const auto size = input_.find(end) + end.size();
    auto out = input_.substr(0, size);
    input_.erase(0, size);
    return out;
  }

  /// Head and body of an answer with a length.
  std::string read_reply() {
    const auto head = read_to("\r\n\r\n");
    const auto i = head.find("Content-Length: ");
    if (i == std::string::npos)
      return head;
    const auto size = std::stoul(head.substr(i + 16));
    while (input_.size() < size)
      if (!read_some())
        return {};
    auto out = head + input_.substr(0, size);
    input_.erase(0, size);
    return out;
  }

  /// Whether the other side hangs up in time.
  bool is_closed() {
    while (read_some()) {
    }
    return is_ended_;
  }

private:
  bool read_some() {
    auto entry = pollfd{fd_.get(), POLLIN, 0};
    if (is_ended_ || ::poll(&entry, 1, 20'000) != 1)
      return false;
    auto bytes = std::array<char, 65'536>{};
    const auto count = ::recv(fd_.get(), bytes.data(), bytes.size(), 0);
    is_ended_ = count <= 0;
    if (count > 0)
      input_.append(bytes.data(), static_cast<size_t>(count));
    return count > 0;
  }

  unique_fd fd_;
  bool is_connected_ = false;
  bool is_ended_ = false;
  std::string input_;
};

} // namespace actorrun::detail::test
