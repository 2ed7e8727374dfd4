// A FIFO in a temporary folder, read by the test, and the lines as a server
// parses them.
#pragma once

#include "actors/core/timers/lines.hpp"
#include "runtime/worker/timers.hpp"
#include "tests/support/catch.hpp"

#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace actorrun::test_timers {

/// The library's channel belongs to the process: each test points it to its own
/// FIFO, and resets it at the end.
class timers_fixture {
public:
  timers_fixture() {
    auto name = std::string{"/tmp/actorrun-timers-XXXXXX"};
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    folder = name;
    path = name + "/timers";
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    open_server();
  }

  ~timers_fixture() {
    worker::configure("");
    close_server();
    std::filesystem::remove_all(folder);
  }

  timers_fixture(const timers_fixture&) = delete;
  timers_fixture& operator=(const timers_fixture&) = delete;

  void open_server() {
    server = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    REQUIRE(server >= 0);
  }

  void close_server() {
    if (server >= 0)
      ::close(std::exchange(server, -1));
  }

  /// The bytes in the FIFO now.
  std::string read_bytes() {
    auto text = std::string{};
    auto place = std::array<char, 65'536>{};
    for (auto n = ssize_t{1}; n > 0;) {
      n = ::read(server, place.data(), place.size());
      if (n > 0)
        text.append(place.data(), static_cast<size_t>(n));
    }
    return text;
  }

  /// The requests in the FIFO now; every line must be one.
  std::vector<core::timer_request> read() {
    const auto bytes = read_bytes();
    auto rest = std::string_view{bytes};
    auto found = std::vector<core::timer_request>{};
    auto next = core::timer_request{};
    while (reader.next(rest, next))
      found.push_back(next);
    CHECK(reader.counts().malformed == 0);
    CHECK(reader.counts().binary == 0);
    CHECK(reader.counts().oversized == 0);
    return found;
  }

  /// The same as text: `+scope` for an acquire, `-scope` for a release.
  std::string read_scopes() {
    auto text = std::string{};
    for (const auto& x : read())
      text += (text.empty() ? "" : " ") + std::string{x.is_release ? "-" : "+"}
              + x.scope;
    return text;
  }

  std::string folder;
  std::string path;
  int server = -1;
  core::timer_reader reader;
};

} // namespace actorrun::test_timers
