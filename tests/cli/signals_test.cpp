#include "cli/signals.hpp"
#include "tests/support/catch.hpp"

#include <csignal>
#include <string>

#include <unistd.h>

namespace {

using namespace actorrun::cli;
using namespace std::chrono_literals;
using origin = received_signal::origin;

/// An inbox with the other end of its connection.
struct connection {
  connection() { REQUIRE(::pipe(ends) == 0); }
  ~connection() { hang_up(); }

  void say(const std::string& text) const {
    REQUIRE(::write(ends[1], text.data(), text.size())
            == static_cast<ssize_t>(text.size()));
  }

  void hang_up() {
    if (ends[1] >= 0)
      ::close(ends[1]);
    ends[1] = -1;
  }

  void expect(int signal, origin from) {
    const auto x = uut.next(10s);
    CHECK(x.signal == signal);
    CHECK(x.from == from);
  }

  int ends[2] = {-1, -1};
  signal_inbox uut{{SIGUSR2}};
};

TEST_CASE("signal_inbox: notices come in their order, in pieces of any size",
          "[cli]") {
  auto x = connection{};
  x.uut.listen(x.ends[0], "end 2\nforw");
  x.expect(SIGINT, origin::ordered);
  x.say("ard 10\nend 15\nen");
  x.expect(SIGUSR1, origin::forwarded);
  x.expect(SIGTERM, origin::ordered);
  x.say("d 1\n");
  x.expect(SIGHUP, origin::ordered);
}

TEST_CASE("signal_inbox: other lines are dropped, however long", "[cli]") {
  auto x = connection{};
  x.uut.listen(x.ends[0], "end 0\nhello\n\nend 99\n");
  x.say(std::string(5'000, 'x') + "\nend 15\n");
  x.expect(SIGTERM, origin::ordered);
}

TEST_CASE("signal_inbox: the end of the connection is reported once", "[cli]") {
  auto x = connection{};
  x.uut.listen(x.ends[0], "");
  x.say("end 2\nend 1");
  x.hang_up();
  x.expect(SIGINT, origin::ordered);
  x.expect(SIGHUP, origin::disconnected);
  x.uut.wake_up();
  CHECK(x.uut.next(10s).signal == 0);
}

TEST_CASE("signal_inbox: signals of the process come besides", "[cli]") {
  auto x = connection{};
  x.uut.listen(x.ends[0], "");
  ::kill(::getpid(), SIGUSR2);
  x.expect(SIGUSR2, origin::system);
}

} // namespace
