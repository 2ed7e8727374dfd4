#include "runtime/worker/actorrun_worker.h"
#include "runtime/worker/steps.hpp"
#include "tests/support/catch.hpp"
#include "tests/worker/step_worker.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

namespace actorrun::test::steps_test {

using namespace std::chrono_literals;

TEST_CASE_METHOD(step_worker,
                 "steps: their times and their count are on the page",
                 "[worker]") {
  const auto code = run([] {
    worker::computed(7ms);
    worker::computed(-1s);
    actorrun_computed(5);
    return 0;
  });
  CHECK(code == 0);
  const auto x = reading();
  REQUIRE(x);
  CHECK(*x == core::step_reading{3, {7ms, 0ns, 5ns}});
}

TEST_CASE_METHOD(step_worker, "steps: a block counts from its begin to its end",
                 "[worker]") {
  CHECK(run([] {
          for (auto i = 0; i < 70; ++i) {
            const auto own = worker::computing{};
            if (i == 69)
              std::this_thread::sleep_for(20ms);
          }
          return 0;
        })
        == 0);
  const auto x = reading();
  REQUIRE(x);
  CHECK(x->step_count == 70);
  CHECK(x->newest.size() == core::step_page::newest_max);
  CHECK(x->newest.back() >= 20ms);
  CHECK(x->newest.front() < 20ms);
}

TEST_CASE_METHOD(step_worker, "steps: without an agent nothing is said",
                 "[worker]") {
  CHECK(run(
          [] {
            worker::computed(7ms);
            return 0;
          },
          false)
        == 0);
  CHECK(has_no_files());
}

TEST_CASE_METHOD(step_worker,
                 "steps: a folder that is gone costs nothing but the steps",
                 "[worker]") {
  CHECK(run([] {
          ::setenv("ACTORRUN_STEPS", "/nowhere/7.", 1);
          worker::computed(7ms);
          return 0;
        })
        == 0);
  CHECK(has_no_files());
}

TEST_CASE_METHOD(step_worker,
                 "steps: a forked child does not speak for its parent",
                 "[worker]") {
  CHECK(run([] {
          worker::computed(7ms);
          const auto child = ::fork();
          if (child == 0) {
            worker::computed(9ms);
            ::_exit(3);
          }
          auto status = 0;
          ::waitpid(child, &status, 0);
          return WEXITSTATUS(status);
        })
        == 3);
  CHECK(reading() == core::step_reading{1, {7ms}});
}

TEST_CASE_METHOD(step_worker,
                 "steps: another process of the session leaves the page alone",
                 "[worker]") {
  CHECK(run([] {
          const auto child = ::fork(); // Before there is a page.
          if (child == 0) {
            ::usleep(100'000);
            worker::computed(9ms);
            ::_exit(3);
          }
          worker::computed(7ms);
          auto status = 0;
          ::waitpid(child, &status, 0);
          return WEXITSTATUS(status);
        })
        == 3);
  CHECK(reading() == core::step_reading{1, {7ms}});
}

// The bound is 2 µs; a shared machine may stop the process at any time, so the median of
// many rounds counts.
TEST_CASE_METHOD(step_worker, "steps: one costs less than 2 us", "[worker]") {
  CHECK(run([] {
          constexpr auto rounds = 201;
          constexpr auto steps = 1'000;
          auto times = std::vector<std::chrono::nanoseconds>{};
          for (auto i = 0; i < rounds; ++i) {
            const auto begun = std::chrono::steady_clock::now();
            for (auto step = 0; step < steps; ++step)
              const auto own = worker::computing{};
            times.push_back((std::chrono::steady_clock::now() - begun) / steps);
          }
          std::ranges::sort(times);
          return times[rounds / 2] < 2us ? 0 : 1;
        })
        == 0);
}

} // namespace actorrun::test::steps_test
