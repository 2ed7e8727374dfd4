#include "messages/caf.hpp"
#include "runtime/launcher/loop_scheduler.hpp"
#include "runtime/os/reactor.hpp"
#include "runtime/os/unique_fd.hpp"
#include "runtime/system_config.hpp"
#include "tests/runtime/deadline.hpp"
#include "tests/support/caf.hpp"
#include "tests/support/catch.hpp"

#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

namespace actorrun::test::loop_scheduler_test {

using namespace actorrun::detail;
using namespace std::chrono_literals;
using namespace test_deadline;

namespace {

struct fixture {
  fixture() { system.await_actors_before_shutdown(false); }

  template <class T>
  static T wait_for(std::future<T> x) {
    REQUIRE(x.wait_for(timeout) == std::future_status::ready);
    return x.get();
  }

  system_config config{actor_place::reactor};
  caf::actor_system system{config};
  std::shared_ptr<reactor> home = loop_scheduler::reactor_for(system);
};

size_t thread_count() {
  auto count = size_t{0};
  for ([[maybe_unused]] const auto& x :
       std::filesystem::directory_iterator{"/proc/self/task"})
    ++count;
  return count;
}

/// Answers with the number plus one, on the reactor.
caf::behavior adder(caf::event_based_actor*, reactor* home) {
  return {[home](int x) { return home->on_thread() ? x + 1 : -1; }};
}

} // namespace

TEST_CASE("loop_scheduler: a system has one more thread of ours", "[runtime]") {
  const auto before = thread_count();
  const auto x = fixture{};
  // CAF 1 has two of its own: one starts threads for detached actors, one prints.
  CHECK(thread_count() == before + 1 + (ACTORRUN_CAF_1 ? 2 : 0));
}

TEST_CASE("loop_scheduler: only systems of its kind share their reactor",
          "[runtime]") {
  auto x = fixture{};
  CHECK(loop_scheduler::reactor_for(x.system) == x.home);
  auto config = system_config{};
  auto other = caf::actor_system{config};
  CHECK(loop_scheduler::reactor_for(other)
        != loop_scheduler::reactor_for(other));
}

TEST_CASE_METHOD(fixture, "loop_scheduler: actors run on the reactor",
                 "[runtime]") {
  const auto first = system.spawn(adder, home.get());
  const auto second = system.spawn(
    [first, loop = home.get()](caf::event_based_actor* self) -> caf::behavior {
      return {[=](int x) {
        auto promise = self->make_response_promise<int>();
        ask(self, first, timeout, x).then([promise, loop](int y) mutable {
          promise.deliver(loop->on_thread() ? y + 1 : -1);
        });
        return promise;
      }};
    });
  auto self = caf::scoped_actor{system};
  for (auto i = 0; i < 1'000; ++i)
    ask(self.ptr(), second, timeout, i)
      .receive([i](int x) { CHECK(x == i + 2); },
               [](const caf::error&) { FAIL("no answer"); });
}

TEST_CASE_METHOD(fixture,
                 "loop_scheduler: due messages come in order, and not"
                 " early",
                 "[runtime]") {
  auto done = std::promise<std::vector<int>>{};
  const auto begin = std::chrono::steady_clock::now();
  system.spawn([&](caf::event_based_actor* self) -> caf::behavior {
    for (const auto ms : {30, 10, 20})
      tell_later(self, std::chrono::milliseconds{ms}, ms);
    return {[&, self, got = std::vector<int>{}](int ms) mutable {
      CHECK(std::chrono::steady_clock::now()
            >= begin + std::chrono::milliseconds{ms});
      got.push_back(ms);
      if (got.size() == 3) {
        done.set_value(got);
        self->quit();
      }
    }};
  });
  CHECK(wait_for(done.get_future()) == std::vector{10, 20, 30});
}

TEST_CASE_METHOD(fixture,
                 "loop_scheduler: a request has a timeout, from any"
                 " thread",
                 "[runtime]") {
  const auto mute = system.spawn([](caf::event_based_actor* self) {
    actorrun::test::skip_unknown_messages(self);
    return caf::behavior{[](const std::string&) {}};
  });
  auto error = std::promise<caf::error>{};
  system.spawn([&](caf::event_based_actor* self) {
    ask(self, mute, 5ms, 1)
      .then([](int) {}, [&](const caf::error& x) { error.set_value(x); });
  });
  CHECK(wait_for(error.get_future()) == caf::sec::request_timeout);
  auto self = caf::scoped_actor{system};
  auto seen = caf::error{};
  ask(self.ptr(), mute, 5ms, 1)
    .receive([](int) {}, [&](const caf::error& x) { seen = x; });
  CHECK(seen == caf::sec::request_timeout);
  caf::anon_send_exit(mute, caf::exit_reason::kill);
}

TEST_CASE_METHOD(fixture,
                 "loop_scheduler: a busy actor does not starve"
                 " descriptors",
                 "[runtime]") {
  // The actor lives longer than this function.
  const auto is_over = std::make_shared<std::atomic<bool>>(false);
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
  const auto from = unique_fd{ends[0]};
  const auto to = unique_fd{ends[1]};
  auto read = std::promise<char>{};
  run_and_wait(*home, [&] {
    home->watch(from.get(), EPOLLIN, [&](uint32_t) {
      auto byte = char{};
      if (::read(from.get(), &byte, 1) == 1)
        read.set_value(byte);
      home->unwatch(from.get());
    });
  });
  system.spawn([is_over](caf::event_based_actor* self) -> caf::behavior {
    tell(self, self, 1);
    return {[=](int x) {
      if (!*is_over)
        tell(self, self, x);
    }};
  });
  for (auto i = 0; i < 100; ++i)
    run_and_wait(*home, [] {});
  REQUIRE(::write(to.get(), "x", 1) == 1);
  CHECK(wait_for(read.get_future()) == 'x');
  *is_over = true;
  run_and_wait(*home, [] {}); // It has let go of the descriptor.
}

TEST_CASE("loop_scheduler: the end of the system ends its actors",
          "[runtime]") {
  auto gone = std::make_shared<int>();
  const auto seen = std::weak_ptr{gone};
  {
    auto x = fixture{};
    x.system.spawn(
      [held = gone](caf::event_based_actor* self) -> caf::behavior {
        tell_later(self, 1h, 1);
        return {[held](int) {}};
      });
    gone.reset();
  }
  CHECK(seen.expired());
}

} // namespace actorrun::test::loop_scheduler_test
