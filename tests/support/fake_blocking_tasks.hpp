// A thread for files that hangs as long as a test wants.
#pragma once

#include "actors/ports/blocking_tasks.hpp"

#include <cstddef>
#include <deque>
#include <functional>
#include <utility>

namespace actorrun::test {

class fake_blocking_tasks final : public ports::blocking_tasks {
public:
  void post(std::function<void()> fn) override {
    tasks_.push_back(std::move(fn));
    if (!is_hanging_)
      run();
  }

  // -- what a test does -------------------------------------------------------

  /// Nothing runs from now on.
  void hang() { is_hanging_ = true; }

  /// All that waits runs now.
  void recover() {
    is_hanging_ = false;
    run();
  }

  size_t waiting_count() const { return tasks_.size(); }

private:
  void run() {
    for (const auto& task : std::exchange(tasks_, {}))
      task();
  }

  std::deque<std::function<void()>> tasks_;
  bool is_hanging_ = false;
};

} // namespace actorrun::test
