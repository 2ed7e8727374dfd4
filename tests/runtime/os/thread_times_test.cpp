#include "runtime/os/thread_times.hpp"
#include "tests/runtime/deadline.hpp"
#include "tests/support/catch.hpp"

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace actorrun::test::thread_times_test {

using namespace actorrun::detail;
using namespace std::chrono_literals;

TEST_CASE("thread_times: a thread that works has run, and not one that sleeps",
          "[runtime]") {
  auto uut = thread_times{};
  const auto begin = uut.now();
  std::this_thread::sleep_for(50ms);
  const auto slept = uut.now();
  CHECK(slept.ran - begin.ran < 25ms);
  const auto deadline
    = std::chrono::steady_clock::now() + test_deadline::timeout;
  while (uut.now().ran - slept.ran < 20ms)
    REQUIRE(std::chrono::steady_clock::now() < deadline);
}

// More threads than processors, all of which want to run.
TEST_CASE("thread_times: a thread waits where others take the processors",
          "[runtime]") {
  auto is_over = std::atomic<bool>{false};
  auto others = std::vector<std::jthread>{};
  for (auto i = 0U; i < 2 * std::thread::hardware_concurrency(); ++i)
    others.emplace_back([&] {
      while (!is_over) {
      }
    });
  auto uut = thread_times{};
  const auto begin = uut.now();
  const auto deadline
    = std::chrono::steady_clock::now() + test_deadline::timeout;
  while (uut.now().waited - begin.waited < 5ms
         && std::chrono::steady_clock::now() < deadline) {
  }
  is_over = true;
  CHECK(uut.now().waited - begin.waited >= 5ms);
}

} // namespace actorrun::test::thread_times_test
