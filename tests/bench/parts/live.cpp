#include "tests/bench/agents.hpp"
#include "tests/bench/parts/parts.hpp"

#include <algorithm>
#include <set>

namespace actorrun::bench::live_part {

namespace {

constexpr uint32_t slots = 8;
constexpr uint32_t node_count = 8;

/// In milliseconds.
constexpr double regroup_max = 100;

struct lines {
  row begun{.what
            = "node killed (-9), 8 × 8 live workers, one stands by: last begin",
            .unit = "ms",
            .goal = "≤ 100 ms"};
  row same{.what = "  processes that have lived on", .goal = "56"};
};

size_t same_count(const stamps& before, const stamps& after) {
  auto pids = std::set<int32_t>{};
  for (const auto& x : before)
    pids.insert(x.pid);
  return size_t(std::count_if(after.begin(), after.end(), [&](const auto& x) {
    return pids.contains(x.pid);
  }));
}

/// A job with a node that stands by.
class elastic_job {
public:
  static result<elastic_job> meet(setting& s, const char* worker) {
    auto job = agents::meet(s, {node_count, 1, slots, worker});
    if (!job)
      return job.error();
    if (const auto done = job->add_standby(s); !done)
      return done.error();
    return elastic_job{std::move(*job)};
  }

  /// Kills a node that has a place.
  /// @param same Set to the number of processes that have lived on.
  /// @returns milliseconds until the last worker of the next generation has begun
  result<double> lose_node(setting& s, size_t& same) {
    const auto before = job_.newest();
    settle();
    const auto begin = stamp_now();
    job_.kill(victim_);
    const auto next = job_.await_next(node_count * slots);
    if (!next)
      return next.error();
    same = same_count(before, *next);
    // Who stood by has a place now, and the next one stands by.
    if (const auto done = job_.replace_by_standby(s, victim_); !done)
      return done.error();
    victim_ = victim_ == node_count ? node_count - 1 : node_count;
    return milliseconds_between(begin, last_start(*next));
  }

private:
  explicit elastic_job(agents job) : job_(std::move(job)) {}

  agents job_;
  size_t victim_ = node_count - 1;
};

measured repeat(setting& s, lines& x) {
  auto live = elastic_job::meet(s, "live_stamp");
  if (!live)
    return live.error();
  auto restarted = elastic_job::meet(s, "stamp");
  if (!restarted)
    return restarted.error();
  for (size_t i = 0; i < s.repetitions(); ++i) {
    auto same = size_t{0};
    const auto ours = live->lose_node(s, same);
    if (!ours)
      return ours.error();
    x.begun.ours.add(*ours);
    x.same.ours.add(double(same));
    const auto peer = restarted->lose_node(s, same);
    if (!peer)
      return peer.error();
    x.begun.peer.add(*peer);
    x.same.peer.add(double(same));
  }
  return {};
}

} // namespace

measured measure(setting& s) {
  auto x = lines{};
  if (const auto done = repeat(s, x); !done)
    return done;
  x.begun.met = x.begun.ours.median() <= regroup_max;
  x.same.met = x.same.ours.min() == (node_count - 1) * slots;
  print_note("node killed: peer", "the same with workers that are restarted");
  print(x.begun);
  print(x.same);
  return {};
}

} // namespace actorrun::bench::live_part
