#include "tests/bench/agents.hpp"
#include "tests/bench/busy_threads.hpp"
#include "tests/bench/parts/parts.hpp"

#include <thread>

namespace actorrun::bench::saturated_part {

namespace {

constexpr agents::shape shape = {4, 3, 2};

constexpr size_t busy_thread_count = 4;

} // namespace

measured measure(setting& s) {
  auto x = row{.what = "4 agents × 2, 4 busy threads, "
                       + std::to_string(s.saturated_window().count())
                       + " s: regroups",
               .goal = "0"};
  auto job = agents::meet(s, shape);
  if (!job)
    return job.error();
  {
    const auto load = busy_threads{busy_thread_count};
    std::this_thread::sleep_for(s.saturated_window());
  }
  if (!job->all_running())
    return unmeasured("an agent has ended");
  auto newest = job->generation();
  for (const auto& stamp : job->tracker().read())
    newest = std::max(newest, stamp.generation);
  x.ours.add(double(newest - job->generation()));
  x.met = newest == job->generation();
  print(x);
  return {};
}

} // namespace actorrun::bench::saturated_part
