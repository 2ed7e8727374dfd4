// Threads that keep processors busy.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

namespace actorrun::bench {

/// Runs busy loops while it lives.
class busy_threads {
public:
  explicit busy_threads(size_t count) {
    for (size_t i = 0; i < count; ++i)
      threads_.emplace_back([this] {
        while (!done_)
          ++rounds_;
      });
  }

  ~busy_threads() {
    done_ = true;
    for (auto& x : threads_)
      x.join();
  }

  busy_threads(const busy_threads&) = delete;
  busy_threads& operator=(const busy_threads&) = delete;

private:
  std::atomic<bool> done_{false};
  std::atomic<uint64_t> rounds_{0};
  std::vector<std::thread> threads_;
};

} // namespace actorrun::bench
