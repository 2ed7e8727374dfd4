#include "cli/signals.hpp"
#include "tests/support/catch.hpp"

#include <chrono>
#include <csignal>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace actorrun::test::signals_test {

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

/// Sends it from a process of its own, and waits for that.
void send_from_another(int signal) {
  const auto to = ::getpid();
  const auto pid = ::fork();
  REQUIRE(pid >= 0);
  if (pid == 0)
    ::_exit(::kill(to, signal) == 0 ? 0 : 1);
  auto status = 0;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  REQUIRE(status == 0);
}

/// The signals that come until there is none.
std::vector<int> all_of(signal_inbox& inbox) {
  auto out = std::vector<int>{};
  for (auto x = inbox.wait(0ms); x != 0; x = inbox.wait(0ms))
    out.push_back(x);
  return out;
}

/// Tries something that has to be done within the time of an echo, until a busy machine
/// lets it be.
/// @param attempt Returns what it has seen.
template <class Attempt>
auto in_time(Attempt attempt) {
  for (auto tries = 1;; ++tries) {
    const auto begun = std::chrono::steady_clock::now();
    auto out = attempt();
    if (std::chrono::steady_clock::now() - begun < signal_echoes::span)
      return out;
    REQUIRE(tries < 100);
  }
}

// The first must have been read: the system keeps one of each kind.
TEST_CASE("signal_inbox: a signal that comes from two senders counts once, if"
          " it is to end something (R5)",
          "[cli]") {
  auto uut = signal_inbox{{SIGUSR2}, {SIGUSR1}};
  const auto on_two_ways = [&](int signal) {
    return in_time([&] {
      ::kill(::getpid(), signal);
      CHECK(uut.wait(10s) == signal);
      send_from_another(signal);
      return all_of(uut);
    });
  };
  CHECK(on_two_ways(SIGUSR2).empty());
  CHECK(on_two_ways(SIGUSR1) == std::vector{SIGUSR1});
  ::kill(::getpid(), SIGUSR2); // The same sender once more.
  CHECK(all_of(uut) == std::vector{SIGUSR2});
}

/// Two ends of a pipe or of a connection; the second is the parent's. SIGTERM is as
/// before in the end.
struct parent_ends {
  explicit parent_ends(bool is_socket) {
    ::pthread_sigmask(SIG_BLOCK, nullptr, &before);
    REQUIRE(
      (is_socket ? ::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) : ::pipe(ends))
      == 0);
  }
  ~parent_ends() {
    close_parents();
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  void close_parents() {
    if (ends[1] >= 0)
      ::close(ends[1]);
    ends[1] = -1;
  }

  int ends[2] = {-1, -1};
  sigset_t before{};
};

TEST_CASE("signal_inbox: the end of the parent is told once, whatever it has"
          " written (R4)",
          "[cli]") {
  for (const auto is_socket : {false, true}) {
    auto x = parent_ends{is_socket};
    auto uut = signal_inbox{{SIGTERM}};
    uut.watch_parent(x.ends[0]);
    CHECK((::fcntl(x.ends[0], F_GETFD) & FD_CLOEXEC) != 0);
    REQUIRE(::write(x.ends[1], "hello", 5) == 5);
    CHECK(uut.wait(0ms) == 0);
    x.close_parents();
    const auto told = uut.next(10s);
    CHECK(told.signal == SIGTERM);
    CHECK(told.from == origin::parent);
    CHECK(uut.wait(0ms) == 0);
  }
}

TEST_CASE("signal_inbox: a parent that sends the signal and ends asks once",
          "[cli]") {
  const auto left = in_time([] {
    auto x = parent_ends{false};
    auto uut = signal_inbox{{SIGTERM}};
    uut.watch_parent(x.ends[0]);
    x.close_parents();
    CHECK(uut.next(10s).from == origin::parent);
    ::kill(::getpid(), SIGTERM);
    return all_of(uut);
  });
  CHECK(left.empty());
}

} // namespace

} // namespace actorrun::test::signals_test
