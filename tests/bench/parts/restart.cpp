#include "tests/bench/agents.hpp"
#include "tests/bench/parts/parts.hpp"
#include "tests/bench/restarted_group.hpp"

namespace actorrun::bench::restart_part {

namespace {

constexpr uint32_t local_worker_count = 4;

/// Maximum time beyond that of a bare loop, in milliseconds.
constexpr double over_loop_max = 5;

constexpr agents::shape wide = {8, 8, 2};
constexpr double wide_max = 20;

/// Kills a worker of `newest`, a different one each time.
result<double> kill_one(size_t turn, stamp_tracker& tracker, stamps& newest) {
  const auto count = newest.size();
  return kill_and_await(newest[turn % count].pid, tracker, newest, count);
}

// In turns: both groups always exist and one of them is idle.
measured repeat(setting& s, stamp_tracker& tracker, stamps newest, row& x) {
  auto loop = start_loop(s, newest.size());
  if (!loop)
    return loop.error();
  for (size_t i = 0; i < s.repetitions(); ++i) {
    const auto ours = kill_one(i, tracker, newest);
    if (!ours)
      return ours.error();
    const auto limit = kill_one(i, loop->tracker, loop->newest);
    if (!limit)
      return limit.error();
    x.ours.add(*ours);
    x.limit.add(*limit);
  }
  return {};
}

measured measure_one_node(setting& s) {
  auto x = row{.what = "worker dies, 1 node × 4: last new start",
               .unit = "ms",
               .goal = "≤ respawn loop + 5 ms"};
  auto group
    = start_group(s,
                  {s.tool("actorrun"), "--max-restarts=1000",
                   "--nproc-per-node=" + std::to_string(local_worker_count),
                   "--no-python", s.tool("stamp")},
                  local_worker_count);
  if (!group)
    return group.error();
  if (const auto done = repeat(s, group->tracker, group->newest, x); !done)
    return done;
  x.met = x.ours.median() <= x.limit.median() + over_loop_max;
  print(x);
  return {};
}

measured measure_many_nodes(setting& s) {
  auto x = row{.what = "worker dies, 8 agents × 2: last new start",
               .unit = "ms",
               .goal = "≤ 20 ms"};
  auto job = agents::meet(s, wide);
  if (!job)
    return job.error();
  if (const auto done = repeat(s, job->tracker(), job->newest(), x); !done)
    return done;
  x.met = x.ours.median() <= wide_max;
  print(x);
  return {};
}

} // namespace

measured measure(setting& s) {
  if (const auto done = measure_one_node(s); !done)
    return done;
  return measure_many_nodes(s);
}

} // namespace actorrun::bench::restart_part
