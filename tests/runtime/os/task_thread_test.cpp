#include "runtime/os/task_thread.hpp"
#include "tests/runtime/deadline.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <future>
#include <memory>
#include <thread>
#include <vector>

namespace actorrun::test::task_thread_test {

using namespace actorrun::detail;
using namespace actorrun::detail::test_deadline;
using namespace std::chrono_literals;

TEST_CASE("task thread: tasks run in order, elsewhere, and take no signal",
          "[runtime]") {
  auto uut = task_thread{"test"};
  auto order = std::vector<int>{};
  for (auto i = 0; i < 100; ++i)
    uut.post([&order, i] { order.push_back(i); });
  auto done = std::promise<bool>{};
  uut.post([&done, caller = std::this_thread::get_id()] {
    auto mask = sigset_t{};
    ::pthread_sigmask(SIG_BLOCK, nullptr, &mask);
    done.set_value(std::this_thread::get_id() != caller
                   && ::sigismember(&mask, SIGTERM) == 1);
  });
  CHECK(done.get_future().get());
  REQUIRE(order.size() == 100);
  CHECK(std::is_sorted(order.begin(), order.end()));
}

TEST_CASE("task thread: at its end, tasks that have not begun are dropped",
          "[runtime]") {
  const auto begun = std::make_shared<std::promise<void>>();
  const auto hang = std::make_shared<std::promise<void>>();
  const auto owned = std::make_shared<std::atomic<bool>>(false);
  auto uut = task_thread{"test"};
  uut.post([begun, hang] {
    begun->set_value();
    hang->get_future().wait();
  });
  uut.post([owned] { *owned = true; });
  begun->get_future().wait();
  CHECK(owned.use_count() == 2);
  CHECK(!uut.end(0s));
  CHECK(owned.use_count() == 1);
  uut.post([owned] { *owned = true; });
  CHECK(owned.use_count() == 1);
  hang->set_value();
  CHECK(soon([&] { return hang.use_count() == 1; }));
  CHECK(!*owned);
}

TEST_CASE("task thread: a task that hangs does not hold up the end",
          "[runtime]") {
  const auto begun = std::make_shared<std::promise<void>>();
  const auto hang = std::make_shared<std::promise<void>>();
  const auto has_ended = std::make_shared<std::atomic<bool>>(false);
  {
    auto uut = task_thread{"test"};
    uut.post([begun, hang, has_ended] {
      begun->set_value();
      hang->get_future().wait();
      *has_ended = true;
    });
    begun->get_future().wait();
    CHECK(!uut.end(1ms));
  }
  CHECK(!*has_ended);
  hang->set_value();
  CHECK(soon([&] { return has_ended->load(); }));
}

TEST_CASE("task thread: who asks gets an answer, or none from one that hangs",
          "[runtime]") {
  const auto hang = std::make_shared<std::promise<void>>();
  auto uut = task_thread{"test"};
  CHECK(uut.ask(10s, [] { return 7; }) == 7);
  CHECK_FALSE(uut.ask(1ms, [hang] {
    hang->get_future().wait();
    return 7;
  }));
  CHECK_FALSE(uut.ask(1ms, [] { return 8; }));
  hang->set_value();
  CHECK(uut.ask(10s, [] { return 9; }) == 9);
}

} // namespace actorrun::test::task_thread_test
