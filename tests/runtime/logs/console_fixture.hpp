// Pipes and terminals for tests of the console: read, or left unread.
#pragma once

#include "runtime/logs/posix_console.hpp"
#include "tests/runtime/deadline.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace actorrun::detail::console_test {

using namespace test_deadline;
using core::output_stream;

/// The two ends of a channel. Bytes written to one are read from the other.
struct ends {
  unique_fd reading;
  unique_fd writing;
};

inline ends make_pipe() {
  auto fds = std::array<int, 2>{};
  REQUIRE(::pipe2(fds.data(), O_CLOEXEC) == 0);
  return {unique_fd{fds[0]}, unique_fd{fds[1]}};
}

/// The other end is a terminal, raw: what goes in comes out.
inline ends make_terminal() {
  auto outer = unique_fd{::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)};
  REQUIRE(outer);
  REQUIRE(::grantpt(outer.get()) == 0);
  REQUIRE(::unlockpt(outer.get()) == 0);
  auto inner
    = unique_fd{::open(::ptsname(outer.get()), O_RDWR | O_NOCTTY | O_CLOEXEC)};
  REQUIRE(inner);
  return {std::move(outer), std::move(inner)};
}

/// Reads what is available at once.
inline size_t readable(int fd) {
  auto count = 0;
  REQUIRE(::ioctl(fd, FIONREAD, &count) == 0);
  return static_cast<size_t>(count);
}

/// Reads until `size` bytes have arrived, or the end, or the timeout.
inline std::string read_text(int fd, size_t size) {
  auto text = std::string{};
  auto part = std::string(std::min(size, size_t{64 * 1024}), '\0');
  auto ready = pollfd{.fd = fd, .events = POLLIN, .revents = 0};
  const auto limit = int(std::chrono::milliseconds{timeout}.count());
  while (text.size() < size && ::poll(&ready, 1, limit) == 1) {
    const auto count
      = ::read(fd, part.data(), std::min(part.size(), size - text.size()));
    if (count <= 0)
      break;
    text.append(part, 0, size_t(count));
  }
  return text;
}

/// Splits text into lines, without their ends. Text after the last end is kept.
inline std::vector<std::string> take_lines(std::string& text) {
  auto lines = std::vector<std::string>{};
  size_t begin = 0;
  for (auto end = text.find('\n'); end != text.npos;
       end = text.find('\n', begin)) {
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  text.erase(0, begin);
  return lines;
}

/// One line of `size` bytes that contains its number.
inline std::string line_of(size_t number, size_t size) {
  auto text = std::to_string(number);
  text.resize(size - 1, '.');
  return text + '\n';
}

/// Fills a console until it takes no more. @returns all it took
inline std::string fill(ports::console& uut, output_stream stream) {
  constexpr auto size = size_t{16 * 1024};
  auto taken = std::string{};
  for (size_t i = 0;; ++i) {
    const auto line = line_of(i, size);
    if (!uut.offer(stream, line))
      return taken;
    taken += line;
  }
}

} // namespace actorrun::detail::console_test
