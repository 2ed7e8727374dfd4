// Measures timers that do not end: the agent's memory and its wake-ups.

#include "tests/bench/parts/parts.hpp"
#include "tests/bench/process_usage.hpp"
#include "tests/bench/restarted_group.hpp"

#include <thread>

namespace actorrun::bench::armed_part {

namespace {

constexpr uint32_t worker_count = 8;
constexpr uint32_t timer_count = 1'000'000;
constexpr double bytes_max = 256;
constexpr double bytes_per_mib = 1024.0 * 1024.0;

/// Tolerance for the wake-ups of an agent without a timer.
constexpr double rate_tolerance = 0.5;

/// An agent with the given number of timers of each worker.
struct armed_agent {
  restarted_group group;
  double mib = 0;
  uint64_t sleep_count = 0;
};

result<armed_agent> start_armed(setting& s, uint32_t count) {
  auto group = start_group(
    s,
    {s.tool("actorrun"), "--nproc-per-node=" + std::to_string(worker_count),
     "--no-python", s.tool("timer_worker"), "arm", std::to_string(count)},
    worker_count);
  if (!group)
    return group.error();
  settle(); // After the last timer the agent goes to sleep.
  const auto pid = group->launcher.pid();
  return armed_agent{std::move(*group), resident_mib(pid), sleep_count(pid)};
}

double sleep_rate(const setting& s, const armed_agent& x) {
  return double(sleep_count(x.group.launcher.pid()) - x.sleep_count)
         / double(s.rest_window().count());
}

} // namespace

measured measure(setting& s) {
  const auto each
    = (s.quick() ? timer_count / 100 : timer_count) / worker_count;
  auto none = start_armed(s, 0);
  if (!none)
    return none.error();
  auto all = start_armed(s, each);
  if (!all)
    return all.error();
  none->sleep_count = sleep_count(none->group.launcher.pid());
  all->sleep_count = sleep_count(all->group.launcher.pid());
  std::this_thread::sleep_for(s.rest_window());
  auto memory
    = row{.what = "armed: " + std::to_string(each * worker_count) + ", each",
          .unit = "bytes",
          .goal = "≤ 256 bytes"};
  memory.ours.add((all->mib - none->mib) * bytes_per_mib
                  / (each * worker_count));
  // Few timers also pay for memory that is allocated in blocks.
  if (!s.quick())
    memory.met = memory.ours.max() <= bytes_max;
  print(memory);
  auto rate = row{.what = "  wake-ups of the agent (limit: without timers)",
                  .unit = "/s",
                  .goal = "as without"};
  rate.ours.add(sleep_rate(s, *all));
  rate.limit.add(sleep_rate(s, *none));
  rate.met = rate.ours.max() <= rate.limit.max() + rate_tolerance;
  print(rate);
  return {};
}

} // namespace actorrun::bench::armed_part
