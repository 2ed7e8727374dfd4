#include "tests/bench/agents.hpp"
#include "tests/bench/parts/parts.hpp"
#include "tests/bench/process_usage.hpp"
#include "tests/bench/restarted_group.hpp"

#include <algorithm>
#include <csignal>

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace actorrun::bench::regroup_part {

namespace {

constexpr agents::shape shape = {4, 3, 2};

/// In milliseconds; stamping workers need no grace period to stop.
constexpr double regroup_max = 100;
constexpr double workers_gone_max = 100;

/// The workers of the agent that is going to be killed.
class doomed_workers {
public:
  explicit doomed_workers(const stamps& xs) {
    for (const auto& x : xs) {
      pids_.push_back(x.pid);
      const auto fd = ::syscall(SYS_pidfd_open, x.pid, 0);
      pidfds_.emplace_back(static_cast<int>(fd));
    }
  }

  /// @returns when the last one ended; 0 if one does not end
  int64_t await_end() const {
    using std::chrono::milliseconds;
    const auto due = deadline();
    for (const auto& fd : pidfds_) {
      auto ready = pollfd{.fd = fd.get(), .events = POLLIN, .revents = 0};
      const auto left = std::chrono::ceil<milliseconds>(due - clock::now());
      if (::poll(&ready, 1, int(std::max<int64_t>(left.count(), 0))) <= 0)
        return 0;
    }
    return stamp_now();
  }

  size_t alive_count() const {
    return size_t(std::count_if(pids_.begin(), pids_.end(), is_alive));
  }

private:
  std::vector<pid_t> pids_;
  std::vector<detail::unique_fd> pidfds_;
};

struct lines {
  row regroup{.what = "agent killed (-9), 4 → 3 agents × 2: last start",
              .unit = "ms",
              .goal = "≤ 100 ms"};
  row gone{.what = "  the killed agent's workers gone",
           .unit = "ms",
           .goal = "≤ 100 ms"};
  row orphans{.what = "  orphans at that start", .goal = "0"};
};

measured kill_agent(agents& job, lines& x) {
  const auto workers = job.workers_of(shape.agent_count - 1);
  if (workers.size() != shape.worker_count)
    return unmeasured("the agent to be killed has "
                      + std::to_string(workers.size()) + " workers");
  const auto doomed = doomed_workers{workers};
  settle();
  const auto begin = stamp_now();
  job.kill_last();
  const auto gone = doomed.await_end();
  const auto left = job.worker_count() - shape.worker_count;
  const auto next = job.await_next(left);
  if (!next)
    return next.error();
  if (gone == 0)
    return unmeasured("the workers of the killed agent live on");
  x.regroup.ours.add(milliseconds_between(begin, last_start(*next)));
  x.gone.ours.add(milliseconds_between(begin, gone));
  x.orphans.ours.add(double(doomed.alive_count()));
  return {};
}

measured repeat(setting& s, lines& x) {
  auto job = agents::meet(s, shape);
  if (!job)
    return job.error();
  const auto survivors = job->worker_count() - shape.worker_count;
  auto loop = start_loop(s, survivors);
  if (!loop)
    return loop.error();
  for (size_t i = 0; i < s.repetitions(); ++i) {
    if (const auto done = kill_agent(*job, x); !done)
      return done;
    const auto limit = kill_and_await(loop->newest[0].pid, loop->tracker,
                                      loop->newest, survivors);
    if (!limit)
      return limit.error();
    x.regroup.limit.add(*limit);
    if (const auto done = job->replace_last(s); !done)
      return done;
    if (const auto all = job->await_next(job->worker_count()); !all)
      return all.error();
  }
  return {};
}

} // namespace

measured measure(setting& s) {
  auto x = lines{};
  if (const auto done = repeat(s, x); !done)
    return done;
  x.regroup.met = x.regroup.ours.median() <= regroup_max;
  x.gone.met = x.gone.ours.max() <= workers_gone_max;
  x.orphans.met = x.orphans.ours.max() == 0;
  for (const auto* line : {&x.regroup, &x.gone, &x.orphans})
    print(*line);
  return {};
}

} // namespace actorrun::bench::regroup_part
