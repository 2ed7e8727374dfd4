#include "runtime/diagnosis/proc_vitals.hpp"
#include "tests/runtime/deadline.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/child_process.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

namespace actorrun::test::proc_vitals_test {

using namespace actorrun::detail;
using namespace actorrun::detail::test_deadline;
using namespace std::chrono_literals;
using actorrun::test::child_process;

namespace {

/// The answers that have come, on whatever thread.
class answers {
public:
  ports::node_vitals::listener listener() {
    return [this](core::node_vitals x) {
      const auto guard = std::lock_guard{mutex_};
      all_.push_back(std::move(x));
      changed_.notify_all();
    };
  }

  bool wait_for(size_t count) {
    auto guard = std::unique_lock{mutex_};
    return changed_.wait_for(guard, timeout,
                             [&] { return all_.size() >= count; });
  }

  size_t count() {
    const auto guard = std::lock_guard{mutex_};
    return all_.size();
  }

  core::node_vitals last() {
    const auto guard = std::lock_guard{mutex_};
    return all_.back();
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<core::node_vitals> all_;
};

/// One worker with a file of 5 bytes.
core::generation_outputs one_file() {
  return {.workers = {{{core::stream_target::kind::file, "x", false}, {}, ""}},
          .filtered_out = {},
          .filtered_err = {}};
}

struct fixture {
  core::node_vitals sample(generation_id generation = {1}) {
    const auto before = told.count();
    uut->sample(generation, pids, told.listener());
    REQUIRE(told.wait_for(before + 1));
    return told.last();
  }

  answers told; ///< Outlives what calls it.
  child_process worker;
  std::vector<int64_t> pids{worker.pid()};
  std::promise<void> release{}; ///< Lets an inspection go on.
  std::unique_ptr<proc_vitals> uut
    = std::make_unique<proc_vitals>([](const core::generation_outputs&) {
        return std::vector<output_facts>{{5, 7ms}};
      });

  /// From now on a look at files lasts until `release`.
  void hang(std::shared_ptr<std::atomic<int>> looks) {
    uut = std::make_unique<proc_vitals>(
      [until = release.get_future().share(),
       looks = std::move(looks)](const core::generation_outputs&) {
        ++*looks;
        until.wait();
        return std::vector<output_facts>{{5, 7ms}};
      });
  }
};

} // namespace

TEST_CASE_METHOD(fixture,
                 "proc_vitals: a sample has the node, the worker and "
                 "its output",
                 "[runtime]") {
  uut->follow({1}, one_file());
  const auto x = sample();
  CHECK(x.cpu_count);
  REQUIRE(x.workers.size() == 1);
  CHECK(x.workers[0].pid == worker.pid());
  CHECK(x.workers[0].state == 'S');
  CHECK(x.workers[0].cpu_percent == 0u);
  CHECK(x.workers[0].output_size == 5u);
  CHECK(x.workers[0].output_age == 7ms);
}

TEST_CASE_METHOD(
  fixture, "proc_vitals: files of another generation are not the workers'",
  "[runtime]") {
  uut->follow({2}, one_file());
  CHECK_FALSE(sample().workers.at(0).output_size);
}

TEST_CASE_METHOD(fixture,
                 "proc_vitals: many questions are answered by one sample",
                 "[runtime]") {
  for (auto i = 0; i < 1'000; ++i)
    uut->sample({1}, pids, told.listener());
  REQUIRE(told.wait_for(1'000));
  CHECK(uut->sample_count() == 1);
  uut->sample({1}, pids, told.listener());
  CHECK(told.count() == 1'001); // The sample is new enough.
  CHECK(uut->sample_count() == 1);
  std::this_thread::sleep_for(proc_vitals::fresh);
  sample();
  CHECK(uut->sample_count() == 2);
}

TEST_CASE_METHOD(fixture, "proc_vitals: it reads nothing until it is asked",
                 "[runtime]") {
  uut->follow({1}, one_file());
  CHECK(uut->sample_count() == 0);
}

TEST_CASE_METHOD(fixture,
                 "proc_vitals: a file system that hangs costs the output only",
                 "[runtime]") {
  const auto looks = std::make_shared<std::atomic<int>>(0);
  hang(looks);
  uut->follow({1}, one_file());
  const auto first = sample();
  REQUIRE(first.workers.size() == 1);
  CHECK(first.workers[0].state == 'S');
  CHECK_FALSE(first.workers[0].output_size);
  std::this_thread::sleep_for(proc_vitals::fresh);
  CHECK_FALSE(sample().workers.at(0).output_size);
  CHECK(*looks == 1); // No second thread hangs.
  release.set_value();
  CHECK(soon([&] {
    std::this_thread::sleep_for(proc_vitals::fresh);
    return sample().workers.at(0).output_size == 5u;
  }));
}

TEST_CASE_METHOD(fixture, "proc_vitals: no listener is called once it is gone",
                 "[runtime]") {
  const auto looks = std::make_shared<std::atomic<int>>(0);
  hang(looks);
  uut->follow({1}, one_file());
  uut->sample({1}, pids, told.listener());
  REQUIRE(soon([&] { return *looks == 1; })); // It is about to answer.
  uut.reset();
  const auto before = told.count(); // 1 on a machine that was busy.
  release.set_value();
  std::this_thread::sleep_for(2 * proc_vitals::output_timeout);
  CHECK(told.count() == before);
}

} // namespace actorrun::test::proc_vitals_test
