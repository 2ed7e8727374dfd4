// Measures the time from the deadline of a timer to the death of its worker.

#include "runtime/os/unique_fd.hpp"
#include "tests/bench/busy_threads.hpp"
#include "tests/bench/parts/parts.hpp"
#include "tests/bench/restarted_group.hpp"

#include <cerrno>
#include <cstring>
#include <optional>

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace actorrun::bench::overruns_part {

namespace {

/// Long enough to be waiting before the deadline.
constexpr auto after_ms = "50";

constexpr size_t death_count = 120;

/// The number of processors of the project's machine.
constexpr size_t busy_thread_count = 2;

constexpr double idle_ms_max = 5;
constexpr double busy_ms_max = 20;

/// The measuring thread should not wait for a processor, if the system permits
/// that. Otherwise the figures are upper limits.
class prompt_thread {
public:
  prompt_thread() {
    const auto x = sched_param{.sched_priority = 1};
    ::pthread_setschedparam(::pthread_self(), SCHED_FIFO, &x);
  }

  ~prompt_thread() {
    const auto x = sched_param{.sched_priority = 0};
    ::pthread_setschedparam(::pthread_self(), SCHED_OTHER, &x);
  }

  prompt_thread(const prompt_thread&) = delete;
  prompt_thread& operator=(const prompt_thread&) = delete;
};

// `process` may have ended, but has not been reaped before it is examined: the
// worker lives for `after_ms` after its stamp.
result<double> time_of_death(const stamp_record& worker) {
  const auto process
    = detail::unique_fd{int(::syscall(SYS_pidfd_open, worker.pid, 0))};
  if (!process)
    return unmeasured(std::string{"pidfd_open: "} + std::strerror(errno));
  auto x = pollfd{.fd = process.get(), .events = POLLIN, .revents = 0};
  const auto limit = std::chrono::milliseconds{timeout}.count();
  if (::poll(&x, 1, int(limit)) <= 0)
    return unmeasured("a worker that has overrun lives on");
  return milliseconds_between(worker.time, stamp_now());
}

/// Kills one worker after another, each by its own timer.
result<figures> times_of_death(setting& s) {
  auto group
    = start_group(s,
                  {s.tool("actorrun"), "--max-restarts=10000", "--no-python",
                   s.tool("timer_worker"), "overrun", after_ms},
                  1);
  if (!group)
    return group.error();
  // Not inherited by started processes.
  const auto promptness = prompt_thread{};
  auto found = figures{};
  const auto count = s.quick() ? death_count / 20 : death_count;
  for (size_t i = 0; i < count; ++i) {
    const auto time = time_of_death(group->newest[0]);
    if (!time)
      return time.error();
    found.add(*time);
    auto next = group->tracker.await(group->newest[0].generation, 1);
    if (!next)
      return next.error();
    group->newest = std::move(*next);
  }
  return found;
}

measured measure(setting& s, const std::string& when, size_t busy_count,
                 double ms_max) {
  auto load = std::optional<busy_threads>{};
  if (busy_count > 0)
    load.emplace(busy_count);
  const auto found = times_of_death(s);
  load.reset();
  if (!found)
    return found.error();
  print({.what = "timer over → its worker has gone, " + when,
         .unit = "ms",
         .ours = *found});
  auto slow = row{.what = "  the slowest of a hundred",
                  .unit = "ms",
                  .goal = "≤ " + std::to_string(int(ms_max)) + " ms"};
  slow.ours.add(found->quantile(0.99));
  slow.met = slow.ours.max() <= ms_max;
  print(slow);
  return {};
}

} // namespace

measured measure(setting& s) {
  if (auto done = measure(s, "idle", 0, idle_ms_max); !done)
    return done;
  return measure(s, "busy", busy_thread_count, busy_ms_max);
}

} // namespace actorrun::bench::overruns_part
