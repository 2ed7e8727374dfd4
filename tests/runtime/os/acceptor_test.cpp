// How an acceptor behaves when descriptors run out: in a child process whose
// limit is lowered to leave as few as a test wants.
#include "runtime/os/acceptor.hpp"
#include "tests/runtime/network/listener_fixture.hpp"
#include "tests/support/catch.hpp"

#include <vector>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>

namespace actorrun::test::acceptor_test {

using namespace actorrun::detail;
using namespace actorrun::detail::test;

namespace {

void set_descriptor_limit(rlim_t count) {
  auto limit = rlimit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = count;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

// Listens with `free_count` free descriptors (below 0: not even the acceptor's
// own) until it is ordered to have more, and then until the end.
[[noreturn]] void serve(int orders, int reports, int free_count) {
  auto accepted = std::vector<unique_fd>{};
  {
    auto loop = reactor{};
    auto before = rlimit{};
    ::getrlimit(RLIMIT_NOFILE, &before);
    auto callbacks = listener_callbacks{};
    callbacks.on_peer
      = [&](unique_fd fd, const peer&) { accepted.push_back(std::move(fd)); };
    const auto uut = listener::listen(loop, loopback(0), an_agent().mine,
                                      callbacks, {.handshake = 1h});
    const auto next = ::dup(orders);
    ::close(next);
    set_descriptor_limit(free_count < 0 ? 3 : rlim_t(next + free_count));
    const auto port = uut->port();
    auto order = char{};
    if (::write(reports, &port, sizeof(port)) == sizeof(port)
        && ::read(orders, &order, 1) == 1) {
      set_descriptor_limit(before.rlim_cur);
      if (::write(reports, &order, 1) == 1) [[maybe_unused]]
        const auto end = ::read(orders, &order, 1);
    }
  }
  ::_exit(0);
}

// A listener of its own process that has run out of descriptors.
class poor_server {
public:
  explicit poor_server(int free_count) {
    int orders[2];
    int reports[2];
    REQUIRE(::pipe2(orders, O_CLOEXEC) == 0);
    REQUIRE(::pipe2(reports, O_CLOEXEC) == 0);
    pid_ = ::fork();
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) {
      ::close(orders[1]);
      serve(orders[0], reports[1], free_count);
    }
    ::close(orders[0]);
    ::close(reports[1]);
    orders_.reset(orders[1]);
    reports_.reset(reports[0]);
    REQUIRE(is_ready(reports_.get(), POLLIN));
    REQUIRE(::read(reports_.get(), &port_, sizeof(port_)) == sizeof(port_));
  }

  ~poor_server() {
    if (pid_ > 0)
      end();
  }

  uint16_t port() const { return port_; }

  void have_plenty() {
    REQUIRE(::write(orders_.get(), "+", 1) == 1);
    auto done = char{};
    REQUIRE(is_ready(reports_.get(), POLLIN));
    REQUIRE(::read(reports_.get(), &done, 1) == 1);
  }

  /// Ends it. Returns the processor time that it used.
  std::chrono::microseconds end() {
    orders_.reset();
    auto usage = rusage{};
    auto status = 0;
    ::wait4(std::exchange(pid_, 0), &status, 0, &usage);
    const auto of = [](const timeval& x) {
      return std::chrono::seconds{x.tv_sec}
             + std::chrono::microseconds{x.tv_usec};
    };
    return of(usage.ru_utime) + of(usage.ru_stime);
  }

private:
  pid_t pid_ = 0;
  uint16_t port_ = 0;
  unique_fd orders_;
  unique_fd reports_;
};

// An acceptor that spins uses all of it that other processes leave.
constexpr auto watched_for = 500ms;

void watch_for_a_while(int fd) {
  CHECK_FALSE(is_ready(fd, POLLIN, watched_for));
}

} // namespace

TEST_CASE("acceptor: with few descriptors silent peers make room",
          "[runtime]") {
  auto server = poor_server{8};
  auto mute = std::vector<unique_fd>{};
  for (auto i = 0; i < 40; ++i)
    mute.push_back(connect_to(loopback(server.port())));
  auto fixture = listener_fixture{};
  const auto outcome = fixture.try_to_enter(server.port());
  REQUIRE(outcome);
  CHECK(*outcome);
  CHECK(is_closed(mute.front().get()));
  watch_for_a_while(mute.back().get());
  CHECK(server.end() < watched_for / 5);
}

TEST_CASE("acceptor: the last descriptor serves the only newcomer",
          "[runtime]") {
  auto server = poor_server{1};
  auto fixture = listener_fixture{};
  const auto outcome = fixture.try_to_enter(server.port());
  REQUIRE(outcome);
  CHECK(*outcome);
}

TEST_CASE("acceptor: with no descriptor a newcomer gets a busy reply",
          "[runtime]") {
  auto server = poor_server{0};
  auto fixture = listener_fixture{};
  const auto outcome = fixture.try_to_enter(server.port());
  REQUIRE(outcome);
  REQUIRE_FALSE(*outcome);
  CHECK(outcome->error().code == errc::connection_failed);
  CHECK(outcome->error().text.find("has no room") != std::string::npos);
  server.have_plenty();
  const auto later = fixture.try_to_enter(server.port());
  REQUIRE(later);
  CHECK(*later);
}

TEST_CASE("acceptor: without its reserve it waits and does not spin",
          "[runtime]") {
  auto server = poor_server{-1};
  auto mute = std::vector<unique_fd>{};
  for (auto i = 0; i < 10; ++i)
    mute.push_back(connect_to(loopback(server.port())));
  watch_for_a_while(mute.back().get());
  server.have_plenty();
  auto fixture = listener_fixture{};
  const auto outcome = fixture.try_to_enter(server.port());
  REQUIRE(outcome);
  CHECK(*outcome);
  CHECK(server.end() < watched_for / 5);
}

} // namespace actorrun::test::acceptor_test
