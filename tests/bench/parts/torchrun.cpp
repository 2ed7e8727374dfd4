// Measures the launcher itself, next to torchrun: workers that import nothing.

#include "tests/bench/parts/parts.hpp"
#include "tests/bench/process_usage.hpp"
#include "tests/bench/torchrun_nodes.hpp"

#include <algorithm>
#include <csignal>
#include <string>
#include <utility>

namespace actorrun::bench::torchrun_part {

namespace {

constexpr uint32_t usual_worker_count = 4;
constexpr uint32_t workers_per_node = 2;

/// torchrun waits 15 s before it considers a node lost, and 30 s for others
/// that may come.
constexpr auto loss_timeout = std::chrono::seconds{90};

/// The lines for one node. A start begins before the launcher's process is
/// created and ends with the first instruction of a worker.
struct node_lines {
  explicit node_lines(uint32_t count) : worker_count(count) {}

  uint32_t worker_count;
  std::string workers = worker_count == 1
                          ? "1 worker"
                          : std::to_string(worker_count) + " workers";
  row first{.what = "start of " + workers + ": the first", .unit = "ms"};
  row last{.what = "start of " + workers + ": the last", .unit = "ms"};
  row import{.what = "  of that, Python imports torch", .unit = "ms"};
  row restart{.what = "worker dies, 1 node × " + std::to_string(worker_count)
                      + ": last new start",
              .unit = "ms"};
  row resident{.what = "launcher: resident, the largest process",
               .unit = "MiB"};
  row proportional{.what = "launcher: Pss of all its processes", .unit = "MiB"};
};

figures& side(row& x, launcher_kind kind) {
  return kind == launcher_kind::ours ? x.ours : x.peer;
}

measured of_launcher(launcher_kind kind, const measured& done) {
  return kind == launcher_kind::ours ? done : of_peer("torchrun", done);
}

void conclude(row& x) {
  x.goal = "≤ torchrun";
  if (!x.ours.empty() && !x.peer.empty())
    x.met = ratio(x.ours, x.peer) <= 1;
  print(x);
}

void add_memory(launched_job& job, launcher_kind kind, node_lines& to) {
  auto resident = 0.0;
  auto proportional = 0.0;
  for (const auto pid : tree_of(job.pid(0), job.workers_of(0))) {
    resident = std::max(resident, resident_mib(pid));
    proportional += proportional_mib(pid);
  }
  side(to.resident, kind).add(resident);
  side(to.proportional, kind).add(proportional);
}

// Imports that torchrun needs, to know the rest of its start.
measured add_import(setting& s, row& to) {
  const auto took = time_of(
    s.command({*s.python_with_torch(), "-c", "import torch.distributed.run"}));
  if (!took)
    return took.error();
  to.peer.add(*took);
  return {};
}

measured add_node(setting& s, launcher_kind kind, node_lines& to) {
  const auto worker_count = to.worker_count;
  auto job = launched_job::prepare(s, kind, {.worker_count = worker_count});
  if (!job)
    return job.error();
  settle();
  const auto start = stamp_now();
  if (const auto done = job->start_node(s); !done)
    return done;
  const auto all = job->await_world(worker_count, worker_count, deadline());
  if (!all)
    return all.error();
  side(to.first, kind).add(milliseconds_between(start, first_start(*all)));
  side(to.last, kind).add(milliseconds_between(start, last_start(*all)));
  settle();
  add_memory(*job, kind, to);
  const auto death = stamp_now();
  ::kill(all->front().pid, SIGKILL);
  const auto again = job->await_world(worker_count, worker_count, deadline());
  if (!again)
    return again.error();
  side(to.restart, kind).add(milliseconds_between(death, last_start(*again)));
  return {};
}

/// From the start of a second node's launcher to the first worker of both.
measured add_joining(setting& s, launcher_kind kind, row& to) {
  auto job = launched_job::prepare(
    s, kind,
    {.nodes = "1:2", .worker_count = workers_per_node, .has_late_nodes = true});
  if (!job)
    return job.error();
  if (const auto done = job->start_node(s); !done)
    return done;
  if (const auto alone
      = job->await_world(workers_per_node, workers_per_node, deadline());
      !alone)
    return alone.error();
  settle();
  const auto start = stamp_now();
  if (const auto done = job->start_node(s); !done)
    return done;
  const auto both
    = job->await_world(2 * workers_per_node, 2 * workers_per_node, deadline());
  if (!both)
    return both.error();
  side(to, kind).add(milliseconds_between(start, first_start(*both)));
  return {};
}

/// From the end of a node to the first new worker of the remaining one. One of
/// its workers fails as well, as it does when it misses a peer: torchrun alone
/// never notices.
measured add_loss(setting& s, launcher_kind kind, row& to) {
  auto job = launched_job::prepare(
    s, kind, {.nodes = "1:2", .worker_count = workers_per_node});
  if (!job)
    return job.error();
  for (auto i = 0; i < 2; ++i)
    if (const auto done = job->start_node(s); !done)
      return done;
  if (const auto both = job->await_world(2 * workers_per_node,
                                         2 * workers_per_node, deadline());
      !both)
    return both.error();
  settle();
  const auto survivors = job->workers_of(0);
  if (survivors.empty())
    return unmeasured("the first node has no workers");
  const auto death = stamp_now();
  job->kill_node(1);
  ::kill(survivors.front(), SIGKILL);
  const auto rest = job->await_world(workers_per_node, workers_per_node,
                                     clock::now() + loss_timeout);
  if (!rest)
    return rest.error();
  side(to, kind).add(milliseconds_between(death, first_start(*rest)));
  return {};
}

// In turns, so that other load on the machine affects both equally.
measured measure_node(setting& s, uint32_t worker_count) {
  auto lines = node_lines{worker_count};
  for (size_t i = 0; i < s.stream_repetitions(); ++i) {
    for (const auto kind : {launcher_kind::ours, launcher_kind::torchrun})
      if (const auto done = of_launcher(kind, add_node(s, kind, lines)); !done)
        return done;
    if (const auto done = add_import(s, lines.import); !done)
      return done;
  }
  for (auto* x : {&lines.first, &lines.last})
    conclude(*x);
  print(lines.import);
  for (auto* x : {&lines.restart, &lines.resident, &lines.proportional})
    conclude(*x);
  return {};
}

measured measure_joining(setting& s) {
  auto x = row{.what = "a node joins: first worker of 2 × 2", .unit = "ms"};
  for (size_t i = 0; i < s.stream_repetitions(); ++i)
    for (const auto kind : {launcher_kind::ours, launcher_kind::torchrun})
      if (const auto done = of_launcher(kind, add_joining(s, kind, x)); !done)
        return done;
  conclude(x);
  return {};
}

// Once is enough for the peer: it takes 45 seconds.
measured measure_loss(setting& s) {
  auto x
    = row{.what = "a node and a worker die: first new start", .unit = "ms"};
  for (size_t i = 0; i < s.stream_repetitions(); ++i)
    if (const auto done = add_loss(s, launcher_kind::ours, x); !done)
      return done;
  if (s.quick())
    print_note("torchrun's loss of a node", "takes 45 s: not in a quick run");
  else
    of_peer("torchrun", add_loss(s, launcher_kind::torchrun, x));
  conclude(x);
  return {};
}

} // namespace

measured measure(setting& s) {
  if (!s.python_with_torch()) {
    print_note("no torchrun", "no Python here has torch; "
                              "install-dependencies.sh --with-torch");
    return {};
  }
  print_note("torchrun is that of torch", s.torch_version());
  for (const auto count : s.torchrun_counts())
    if (const auto done = measure_node(s, count); !done)
      return done;
  if (!s.torchrun_counts().empty())
    return {};
  if (const auto done = measure_node(s, usual_worker_count); !done)
    return done;
  for (auto* measure : {measure_joining, measure_loss})
    if (const auto done = measure(s); !done)
      return done;
  return {};
}

} // namespace actorrun::bench::torchrun_part
