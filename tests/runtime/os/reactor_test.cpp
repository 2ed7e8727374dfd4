#include "runtime/os/reactor.hpp"
#include "runtime/os/unique_fd.hpp"
#include "tests/runtime/deadline.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <netinet/in.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

namespace actorrun::test::reactor_test {

using namespace actorrun::detail;
using actorrun::detail::test_deadline::soon;
using namespace std::chrono_literals;

namespace {

constexpr auto timeout = 10s;

// An event that a test waits for; fails the test if it takes too long.
struct event {
  std::promise<void> promise;
  std::future<void> future = promise.get_future();

  void set() { promise.set_value(); }
  bool wait() { return future.wait_for(timeout) == std::future_status::ready; }
};

template <class F>
void on_thread_of(reactor& uut, F fn) {
  auto done = event{};
  uut.post([&] {
    fn();
    done.set();
  });
  REQUIRE(done.wait());
}

unique_fd make_eventfd() {
  return unique_fd{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
}

struct socket_pair {
  unique_fd server;
  unique_fd client;
};

// Over TCP, whose ends the kernel reports otherwise than those of others.
socket_pair connected_sockets() {
  auto where = sockaddr_in{};
  where.sin_family = AF_INET;
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto size = socklen_t{sizeof where};
  auto* address = reinterpret_cast<sockaddr*>(&where);
  const auto listener
    = unique_fd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  REQUIRE(::bind(listener.get(), address, size) == 0);
  REQUIRE(::listen(listener.get(), 1) == 0);
  REQUIRE(::getsockname(listener.get(), address, &size) == 0);
  auto client = unique_fd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  REQUIRE(::connect(client.get(), address, size) == 0);
  auto server
    = unique_fd{::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)};
  REQUIRE(server);
  return {std::move(server), std::move(client)};
}

} // namespace

TEST_CASE("reactor: tasks run in order on the thread", "[runtime]") {
  auto uut = reactor{};
  auto trace = std::string{};
  CHECK(!uut.on_thread());
  uut.post([&] { trace += uut.on_thread() ? "a" : "?"; });
  uut.post([&] { trace += 'b'; });
  on_thread_of(uut, [&] { trace += 'c'; });
  CHECK(trace == "abc");
}

TEST_CASE("reactor: a task posted on the thread does not run inline",
          "[runtime]") {
  auto uut = reactor{};
  auto trace = std::string{};
  auto done = event{};
  uut.post([&] {
    uut.post([&] {
      trace += 'b';
      done.set();
    });
    trace += 'a';
  });
  REQUIRE(done.wait());
  CHECK(trace == "ab");
}

TEST_CASE("reactor: every posted task has run when it is destroyed",
          "[runtime]") {
  auto count = 0;
  {
    auto uut = reactor{};
    for (auto i = 0; i < 1000; ++i)
      uut.post([&] { uut.post([&] { ++count; }); });
  }
  CHECK(count == 1000);
}

TEST_CASE("reactor: tasks from several threads are all run", "[runtime]") {
  auto uut = reactor{};
  auto count = 0;
  auto threads = std::vector<std::thread>{};
  for (auto i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (auto k = 0; k < 5000; ++k)
        uut.post([&] { ++count; });
    });
  for (auto& x : threads)
    x.join();
  on_thread_of(uut, [] {});
  CHECK(count == 20'000);
}

TEST_CASE("reactor: signals are blocked in the thread only", "[runtime]") {
  auto uut = reactor{};
  auto mask = sigset_t{};
  on_thread_of(uut, [&] { ::pthread_sigmask(SIG_SETMASK, nullptr, &mask); });
  for (auto x : {SIGCHLD, SIGTERM, SIGINT, SIGUSR1, SIGPIPE})
    CHECK(sigismember(&mask, x) == 1);
  ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  CHECK(sigismember(&mask, SIGTERM) == 0);
}

TEST_CASE("reactor: a handler runs while its descriptor is ready",
          "[runtime]") {
  auto uut = reactor{};
  const auto fd = make_eventfd();
  auto count = 0;
  auto others = 0;
  auto done = event{};
  on_thread_of(uut, [&] {
    uut.watch(fd.get(), EPOLLIN, [&](uint32_t events) {
      others += events != EPOLLIN;
      if (++count == 3) {
        uut.unwatch(fd.get());
        done.set();
      }
    });
  });
  ::eventfd_write(fd.get(), 1);
  REQUIRE(done.wait());
  on_thread_of(uut, [] {});
  CHECK(count == 3);
  CHECK(others == 0);
}

TEST_CASE("reactor: a watch can wait for other events", "[runtime]") {
  auto uut = reactor{};
  const auto fd = make_eventfd();
  auto seen = uint32_t{};
  auto done = event{};
  on_thread_of(uut, [&] {
    uut.watch(fd.get(), EPOLLIN, [&](uint32_t events) {
      seen = events;
      uut.unwatch(fd.get());
      done.set();
    });
    uut.rewatch(fd.get(), EPOLLOUT);
  });
  REQUIRE(done.wait());
  CHECK(seen == EPOLLOUT);
}

TEST_CASE("reactor: a descriptor that is reused gets no stale event",
          "[runtime]") {
  auto uut = reactor{};
  auto fds = std::vector<unique_fd>{};
  fds.push_back(make_eventfd());
  fds.push_back(make_eventfd());
  auto reused = false;
  auto stale = 0;
  auto handled = 0;
  auto done = event{};
  // Both are ready in the same round; the first handler replaces the other.
  const auto replace = [&](size_t other) {
    ++handled;
    const auto number = fds[other].get();
    for (const auto& x : fds)
      uut.unwatch(x.get());
    const auto fresh = make_eventfd();
    reused = ::dup2(fresh.get(), number) == number;
    uut.watch(number, EPOLLIN, [&](uint32_t) { ++stale; });
    uut.post([&] { uut.post([&] { done.set(); }); });
  };
  on_thread_of(uut, [&] {
    uut.watch(fds[0].get(), EPOLLIN, [&](uint32_t) { replace(1); });
    uut.watch(fds[1].get(), EPOLLIN, [&](uint32_t) { replace(0); });
    ::eventfd_write(fds[0].get(), 1);
    ::eventfd_write(fds[1].get(), 1);
  });
  REQUIRE(done.wait());
  CHECK(reused);
  CHECK(handled == 1);
  CHECK(stale == 0);
}

TEST_CASE("reactor: what a handler owns lives until the handler returns",
          "[runtime]") {
  auto uut = reactor{};
  const auto fd = make_eventfd();
  auto value = 0;
  auto done = event{};
  on_thread_of(uut, [&] {
    auto owned = std::make_shared<int>(42);
    uut.watch(fd.get(), EPOLLIN, [&, owned](uint32_t) {
      uut.unwatch(fd.get());
      value = *owned;
      done.set();
    });
  });
  ::eventfd_write(fd.get(), 1);
  REQUIRE(done.wait());
  CHECK(value == 42);
}

TEST_CASE("reactor: ending an unknown watch does nothing", "[runtime]") {
  auto uut = reactor{};
  const auto fd = make_eventfd();
  on_thread_of(uut, [&] { uut.unwatch(fd.get()); });
}

TEST_CASE("reactor: timers run in the order of their time", "[runtime]") {
  auto uut = reactor{};
  auto trace = std::string{};
  auto done = event{};
  const auto start = std::chrono::steady_clock::now();
  uut.post([&] {
    uut.after(30ms, [&] {
      trace += 'c';
      done.set();
    });
    uut.after(10ms, [&] { trace += 'a'; });
    uut.after(20ms, [&] { trace += 'b'; });
  });
  REQUIRE(done.wait());
  CHECK(trace == "abc");
  CHECK(std::chrono::steady_clock::now() - start >= 30ms);
}

TEST_CASE("reactor: a cancelled timer does not run", "[runtime]") {
  auto uut = reactor{};
  auto trace = std::string{};
  auto done = event{};
  uut.post([&] {
    const auto second = uut.after(2ms, [&] { trace += 'b'; });
    uut.after(1ms, [&, second] {
      uut.cancel(second);
      uut.cancel(second);
      uut.cancel(0);
      trace += 'a';
    });
    uut.after(3ms, [&] {
      trace += 'c';
      done.set();
    });
  });
  REQUIRE(done.wait());
  CHECK(trace == "ac");
}

TEST_CASE("reactor: a timer that rearms itself leaves room for others",
          "[runtime]") {
  auto uut = reactor{};
  auto count = 0;
  auto task = reactor::task{};
  task = [&] {
    ++count;
    uut.after(0ms, task);
  };
  uut.post([&] { uut.after(0ms, task); });
  for (auto i = 0; i < 100; ++i)
    on_thread_of(uut, [] {});
  on_thread_of(uut, [&] { task = [] {}; });
  CHECK(count >= 1);
}

TEST_CASE("reactor: the end of a round comes after all of its handlers",
          "[runtime]") {
  auto uut = reactor{};
  const auto first = make_eventfd();
  const auto second = make_eventfd();
  auto trace = std::string{};
  auto done = event{};
  const auto handle = [&](const unique_fd& fd) {
    trace += 'h';
    uut.unwatch(fd.get());
    uut.at_end_of_round([&] { trace += 'e'; });
    uut.post([&] { trace += 't'; });
  };
  on_thread_of(uut, [&] {
    uut.watch(first.get(), EPOLLIN, [&](uint32_t) { handle(first); });
    uut.watch(second.get(), EPOLLIN, [&](uint32_t) { handle(second); });
    ::eventfd_write(first.get(), 1);
    ::eventfd_write(second.get(), 1);
    uut.after(5ms, [&] { done.set(); });
  });
  REQUIRE(done.wait());
  CHECK(trace == "hhttee");
}

namespace {

// So long after an event that cannot wait there may be a pause again.
constexpr auto calm_time = 400ms;

// Events of two kinds on a reactor whose thread was quiet for long enough to pause.
struct calm_reactor {
  reactor loop;
  unique_fd late = make_eventfd(); ///< Its events could come later.
  unique_fd other = make_eventfd();
  std::atomic<int> late_count = 0;
  std::atomic<int> round_count = 0; ///< That had such events.
  event seen;                       ///< One of `other`.

  explicit calm_reactor(std::chrono::milliseconds pause) {
    on_thread_of(loop, [this, pause] {
      loop.watch(late.get(), EPOLLIN, [this, pause](uint32_t) {
        auto count = eventfd_t{};
        ::eventfd_read(late.get(), &count);
        late_count += static_cast<int>(count);
        loop.could_wait(pause);
        ++round_count;
      });
      loop.watch(other.get(), EPOLLIN, [this](uint32_t) {
        loop.unwatch(other.get());
        seen.set();
      });
    });
    std::this_thread::sleep_for(
      calm_time); // A task is an event that cannot wait.
  }

  ~calm_reactor() {
    on_thread_of(loop, [this] {
      loop.unwatch(late.get());
      loop.unwatch(other.get());
    });
  }

  /// Leaves the thread in a pause, if it makes one.
  void handle_late() {
    const auto before = round_count.load();
    ::eventfd_write(late.get(), 1);
    CHECK(soon([&] { return round_count > before; }));
  }
};

} // namespace

TEST_CASE("reactor: events that could come later are handled together",
          "[runtime]") {
  auto uut = calm_reactor{500ms};
  uut.handle_late();
  for (int i = 0; i < 50; ++i) {
    ::eventfd_write(uut.late.get(), 1);
    std::this_thread::sleep_for(1ms);
  }
  CHECK(soon([&] { return uut.late_count == 51; }));
  CHECK(uut.round_count <= 10);
}

TEST_CASE("reactor: a task and a timer end the pause", "[runtime]") {
  constexpr auto long_pause = 60s;
  auto uut = calm_reactor{long_pause};
  auto done = event{};
  SECTION("a task") {
    uut.handle_late();
    uut.loop.post([&] { done.set(); });
  }
  SECTION("a timer") {
    on_thread_of(uut.loop,
                 [&] { uut.loop.after(2 * calm_time, [&] { done.set(); }); });
    std::this_thread::sleep_for(calm_time);
    uut.handle_late();
  }
  CHECK(done.wait());
}

TEST_CASE("reactor: another watch ends the pause", "[runtime]") {
  auto uut = calm_reactor{60s};
  uut.handle_late(); // From now on there may be pauses.
  auto renewed = make_eventfd();
  const auto set_event_at = [&](int fd, uint32_t events, event& done) {
    uut.loop.watch(fd, events, [&, fd](uint32_t) {
      uut.loop.unwatch(fd);
      done.set();
    });
  };
  SECTION("one of before") {
    ::eventfd_write(uut.other.get(), 1);
    CHECK(uut.seen.wait());
  }
  SECTION("one that took the place of another at its descriptor") {
    auto done = event{};
    on_thread_of(uut.loop, [&] {
      uut.loop.watch(renewed.get(), EPOLLIN, [](uint32_t) {});
      uut.loop.unwatch(renewed.get());
      set_event_at(renewed.get(), EPOLLIN, done);
    });
    std::this_thread::sleep_for(calm_time); // That task was no calm event.
    uut.handle_late();
    ::eventfd_write(renewed.get(), 1);
    CHECK(done.wait());
  }
  SECTION("one that waits for something else now") {
    auto done = event{};
    on_thread_of(uut.loop, [&] {
      set_event_at(renewed.get(), 0, done);
      uut.loop.after(calm_time, [&] {
        ::eventfd_write(uut.late.get(), 1);
        uut.loop.after(0s, [&] { // In the next round.
          uut.loop.rewatch(renewed.get(), EPOLLOUT);
        });
      });
    });
    CHECK(done.wait());
  }
  SECTION("one that was given up, and asked for once more") {
    auto once = std::make_optional<readiness>(uut.loop, renewed.get());
    for (auto i = 0; i < 2; ++i) {
      auto done = event{};
      once->call_once([&] {
        auto ignored = eventfd_t{};
        ::eventfd_read(renewed.get(), &ignored);
        done.set();
      });
      on_thread_of(uut.loop, [] {}); // It waits.
      std::this_thread::sleep_for(calm_time);
      uut.handle_late();
      ::eventfd_write(renewed.get(), 1);
      CHECK(done.wait());
    }
  }
}

TEST_CASE(
  "reactor: the end of input ends the pause, and brings what came before",
  "[runtime]") {
  auto uut = reactor{};
  auto pair = connected_sockets();
  auto got = std::string{};
  auto round_count = std::atomic<int>{0};
  auto end = event{};
  on_thread_of(uut, [&] {
    uut.watch(pair.server.get(), EPOLLIN, [&](uint32_t) {
      char bytes[16];
      const auto count = ::recv(pair.server.get(), bytes, sizeof bytes, 0);
      got.append(bytes, static_cast<size_t>(std::max<ssize_t>(count, 0)));
      ++round_count;
      if (count > 0)
        return uut.could_wait(60s);
      uut.unwatch(pair.server.get());
      end.set();
    });
  });
  std::this_thread::sleep_for(calm_time);
  REQUIRE(::send(pair.client.get(), "a", 1, 0) == 1);
  REQUIRE(soon([&] { return round_count == 1; }));
  REQUIRE(::send(pair.client.get(), "b", 1, 0) == 1);
  std::this_thread::sleep_for(50ms);
  CHECK(round_count == 1); // It is in the pause.
  SECTION("a connection that is closed") {
    pair.client.reset();
    CHECK(end.wait());
    CHECK(got == "ab");
  }
  SECTION("one that is reset") {
    const auto at_once = linger{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(pair.client.get(), SOL_SOCKET, SO_LINGER, &at_once,
                 sizeof at_once);
    pair.client.reset();
    CHECK(end.wait());
  }
}

TEST_CASE("reactor: without a descriptor there are no pauses", "[runtime]") {
  auto uut = calm_reactor{60s};
  auto limit = rlimit{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
  const auto none = rlimit{.rlim_cur = 0, .rlim_max = limit.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  uut.handle_late();
  ::setrlimit(RLIMIT_NOFILE, &limit);
  uut.handle_late();
}

TEST_CASE("reactor: after an event that cannot wait there is no pause",
          "[runtime]") {
  auto uut = calm_reactor{60s};
  on_thread_of(uut.loop, [&] {
    uut.loop.after(calm_time, [&] { // A timer is no event of a descriptor.
      ::eventfd_write(uut.late.get(), 1); // Both come in the next round.
      ::eventfd_write(uut.other.get(), 1);
    });
  });
  REQUIRE(uut.seen.wait());
  uut.handle_late();
}

TEST_CASE("reactor: an event that can wait less than a millisecond cannot",
          "[runtime]") {
  auto loop = reactor{};
  const auto hurried = make_eventfd();
  const auto late = make_eventfd();
  auto round_count = std::atomic<int>{0};
  on_thread_of(loop, [&] {
    loop.watch(hurried.get(), EPOLLIN, [&](uint32_t) {
      auto ignored = eventfd_t{};
      ::eventfd_read(hurried.get(), &ignored);
      loop.could_wait(999us);
      ++round_count;
    });
    loop.watch(late.get(), EPOLLIN, [&](uint32_t) {
      auto ignored = eventfd_t{};
      ::eventfd_read(late.get(), &ignored);
      loop.could_wait(60s);
    });
    loop.after(calm_time, [&] {
      ::eventfd_write(hurried.get(), 1);
      ::eventfd_write(late.get(), 1);
    });
  });
  REQUIRE(soon([&] { return round_count == 1; }));
  ::eventfd_write(hurried.get(), 1);
  CHECK(soon([&] { return round_count == 2; }));
}

TEST_CASE("reactor: a pause does not hold up its end", "[runtime]") {
  auto uut = std::make_optional<reactor>();
  const auto late = make_eventfd();
  auto is_handled = std::atomic<bool>{false};
  on_thread_of(*uut, [&] {
    uut->watch(late.get(), EPOLLIN, [&](uint32_t) {
      auto ignored = eventfd_t{};
      ::eventfd_read(late.get(), &ignored);
      uut->could_wait(24h);
      is_handled = true;
    });
    uut->after(calm_time, [&] { ::eventfd_write(late.get(), 1); });
  });
  REQUIRE(soon([&] { return is_handled.load(); }));
  uut.reset();
}

TEST_CASE("reactor: an idle thread sleeps", "[runtime]") {
  auto uut = reactor{};
  auto before = rusage{};
  auto after = rusage{};
  auto done = event{};
  uut.post([&] {
    ::getrusage(RUSAGE_THREAD, &before);
    uut.after(200ms, [&] {
      ::getrusage(RUSAGE_THREAD, &after);
      done.set();
    });
  });
  REQUIRE(done.wait());
  CHECK(after.ru_nvcsw - before.ru_nvcsw <= 2);
}

} // namespace actorrun::test::reactor_test
