#include "tests/bench/agents.hpp"
#include "tests/bench/parts/parts.hpp"
#include "tests/bench/restarted_group.hpp"

namespace actorrun::bench::meet_part {

namespace {

constexpr agents::shape shape = {8, 8, 8};

/// In milliseconds.
constexpr double meeting_max = 500;

} // namespace

measured measure(setting& s) {
  auto x = row{.what = "8 agents meet and start 64 workers, cold",
               .unit = "ms",
               .goal = "≤ 500 ms"};
  for (size_t i = 0; i < s.repetitions(); ++i) {
    settle();
    const auto begin = stamp_now();
    const auto job = agents::meet(s, shape);
    if (!job)
      return job.error();
    x.ours.add(milliseconds_between(begin, last_start(job->newest())));
    settle();
    const auto loop_begin = stamp_now();
    const auto loop = start_loop(s, job->worker_count());
    if (!loop)
      return loop.error();
    x.limit.add(milliseconds_between(loop_begin, last_start(loop->newest)));
  }
  x.met = x.ours.median() <= meeting_max;
  print(x);
  return {};
}

} // namespace actorrun::bench::meet_part
