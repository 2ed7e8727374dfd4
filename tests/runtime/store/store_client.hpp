// A client of the store that checks replies byte by byte, and waits with a
// deadline.
#pragma once

#include "runtime/os/socket_address.hpp"
#include "runtime/os/unique_fd.hpp"
#include "tests/runtime/deadline.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/store_bytes.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <sys/socket.h>
#include <sys/time.h>

namespace actorrun::test {

class store_client {
public:
  /// Connects and sends the hello of torch 2.14.
  store_client(const detail::socket_address& where,
               torch version = torch::v2_14)
    : version_(version),
      fd_(::socket(where.family(), SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const auto limit = timeval{detail::test_deadline::timeout.count(), 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    REQUIRE(::connect(fd_.get(), where.get(), where.size) == 0);
    if (version == torch::v2_14) {
      send(store_hello(nonce));
      CHECK(number<uint32_t>() == nonce);
    }
  }

  /// @returns false if the connection is over
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto n
        = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0)
        return false;
      bytes.remove_prefix(static_cast<size_t>(n));
    }
    return true;
  }

  void ask(const core::store_request& x) {
    REQUIRE(send(store_bytes(version_, x)));
  }

  /// Reads `size` bytes; fewer if the connection ends first. Fails the test on
  /// a timeout.
  std::string read(size_t size) {
    auto out = std::string(size, '\0');
    auto got = size_t{0};
    while (got < size) {
      const auto n = ::recv(fd_.get(), out.data() + got, size - got, 0);
      REQUIRE((n >= 0 || errno == ECONNRESET));
      if (n <= 0)
        break;
      got += static_cast<size_t>(n);
    }
    out.resize(got);
    return out;
  }

  template <class Int>
  Int number() {
    const auto bytes = read(sizeof(Int));
    REQUIRE(bytes.size() == sizeof(Int));
    auto out = uint64_t{0};
    for (size_t i = sizeof(Int); i > 0; --i)
      out = out << 8 | static_cast<uint8_t>(bytes[i - 1]);
    return static_cast<Int>(out);
  }

  std::string value() { return read(number<uint64_t>()); }

  /// Whether nothing has arrived: a ping is answered first.
  bool is_silent() {
    ask({.verb = core::store_verb::ping, .number = nonce});
    return number<uint32_t>() == nonce;
  }

  /// Waits for the other side to end the connection; false on a timeout.
  bool is_over() { return read(1).empty(); }

  int fd() const { return fd_.get(); }

  void close() { fd_.reset(); }

private:
  static constexpr uint32_t nonce = 4711;

  torch version_;
  detail::unique_fd fd_;
};

} // namespace actorrun::test
