#include "agents.hpp"
#include "parts.hpp"

#include <atomic>
#include <thread>

namespace actorrun::bench {

namespace {

constexpr agents::shape shape = {4, 3, 2};

constexpr size_t busy_thread_count = 4;

/// Threads that do nothing, all the time, while this lives.
class busy_threads {
public:
  busy_threads() {
    for (size_t i = 0; i < busy_thread_count; ++i)
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

private:
  std::atomic<bool> done_{false};
  std::atomic<uint64_t> rounds_{0};
  std::vector<std::thread> threads_;
};

} // namespace

measured measure_saturated(setting& s) {
  auto x = row{.what = "4 agents × 2, 4 busy threads, "
                       + std::to_string(s.saturated_window().count())
                       + " s: regroups",
               .goal = "0"};
  auto job = agents::meet(s, shape);
  if (!job)
    return job.error();
  {
    const auto load = busy_threads{};
    std::this_thread::sleep_for(s.saturated_window());
  }
  if (!job->all_running())
    return unmeasured("an agent has ended");
  auto newest = job->epoch();
  for (const auto& stamp : job->board().read())
    newest = std::max(newest, stamp.epoch);
  x.ours.add(double(newest - job->epoch()));
  x.met = newest == job->epoch();
  print(x);
  return std::monostate{};
}

} // namespace actorrun::bench
