#include "runtime/worker/actorrun_worker.h"
#include "runtime/worker/saves.hpp"
#include "runtime/worker/steps.hpp"
#include "tests/support/catch.hpp"
#include "tests/worker/step_worker.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

namespace actorrun::test::saves_test {

using namespace std::chrono_literals;

TEST_CASE_METHOD(step_worker, "saves: a block is a save, unless it fails",
                 "[worker]") {
  const auto begun = std::chrono::steady_clock::now();
  CHECK(run([] {
          {
            const auto save = worker::saving{};
            std::this_thread::sleep_for(20ms);
          }
          try {
            const auto save = worker::saving{};
            std::this_thread::sleep_for(10ms);
            throw 1;
          } catch (int) {
          }
          return 0;
        })
        == 0);
  const auto x = reading();
  REQUIRE(x);
  CHECK(x->step_count == 0);
  CHECK(x->saves.save_count == 1);
  CHECK(x->saves.saving >= 30ms);
  CHECK_FALSE(x->saves.saving_since);
  CHECK(x->saves.saved_up_to > begun);
  CHECK(x->saves.saving_before == 0ns);
}

TEST_CASE_METHOD(step_worker, "saves: what is said without a block",
                 "[worker]") {
  CHECK(run([] {
          worker::computed(1ms);
          worker::saved(5ms);
          worker::saved(-1s);
          worker::saved();
          return 0;
        })
        == 0);
  const auto x = reading();
  REQUIRE(x);
  CHECK(x->step_count == 1);
  CHECK(x->saves.save_count == 3);
  CHECK(x->saves.saving == 5ms);
  CHECK(x->saves.saving_before == 5ms);
}

TEST_CASE_METHOD(step_worker, "saves: the same in C", "[worker]") {
  CHECK(run([] {
          actorrun_saving();
          std::this_thread::sleep_for(10ms);
          actorrun_saved(-1);
          actorrun_saved(7);
          actorrun_saving();
          actorrun_save_failed();
          actorrun_save_failed();
          actorrun_saving();
          return 0;
        })
        == 0);
  const auto x = reading();
  REQUIRE(x);
  CHECK(x->saves.save_count == 2);
  CHECK(x->saves.saving >= 10ms + 7ns);
  CHECK(x->saves.saving_since);
}

TEST_CASE_METHOD(step_worker,
                 "saves: what another thread has saved later stays",
                 "[worker]") {
  CHECK(run([] {
          const auto begun = std::chrono::steady_clock::now();
          {
            const auto save = worker::saving{};
            std::this_thread::sleep_for(20ms);
            std::thread{[] { worker::saved(0ns); }}.join();
          }
          return std::chrono::steady_clock::now() - begun >= 20ms ? 0 : 1;
        })
        == 0);
  const auto x = reading();
  REQUIRE(x);
  CHECK(x->saves.save_count == 2);
  CHECK(x->saves.saving >= 20ms);
  CHECK(x->saves.saving_before == 0ns);
}

TEST_CASE_METHOD(step_worker, "saves: threads may say them at the same time",
                 "[worker]") {
  CHECK(run([] {
          auto threads = std::vector<std::thread>{};
          for (auto i = 0; i < 4; ++i)
            threads.emplace_back([] {
              for (auto j = 0; j < 1'000; ++j)
                worker::saved(1ns);
            });
          for (auto& x : threads)
            x.join();
          return 0;
        })
        == 0);
  CHECK(reading()->saves.save_count == 4'000);
  CHECK(reading()->saves.saving == 4'000ns);
}

TEST_CASE_METHOD(step_worker,
                 "saves: without an agent, and in a forked child, nothing is "
                 "said",
                 "[worker]") {
  const auto program = [] {
    const auto save = worker::saving{};
    worker::saved();
    actorrun_saving();
    actorrun_save_failed();
    worker::saved(1s);
    return 0;
  };
  CHECK(run(program, false) == 0);
  CHECK(has_no_files());
  CHECK(run([&] {
          worker::saved(7ns);
          const auto child = ::fork();
          if (child == 0)
            ::_exit(program());
          auto status = 0;
          ::waitpid(child, &status, 0);
          return WEXITSTATUS(status);
        })
        == 0);
  CHECK(reading()->saves.save_count == 1);
}

// The bound is 2 µs; a shared machine may stop the process at any time, so the median of
// many rounds counts.
TEST_CASE_METHOD(step_worker, "saves: one costs less than 2 us", "[worker]") {
  CHECK(run([] {
          constexpr auto rounds = 201;
          constexpr auto saves = 1'000;
          auto times = std::vector<std::chrono::nanoseconds>{};
          for (auto i = 0; i < rounds; ++i) {
            const auto begun = std::chrono::steady_clock::now();
            for (auto save = 0; save < saves; ++save)
              const auto own = worker::saving{};
            times.push_back((std::chrono::steady_clock::now() - begun) / saves);
          }
          std::ranges::sort(times);
          return times[rounds / 2] < 2us ? 0 : 1;
        })
        == 0);
}

} // namespace actorrun::test::saves_test
