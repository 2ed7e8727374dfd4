#include "tests/bench/parts/parts.hpp"

namespace actorrun::bench::launch_part {

namespace {

constexpr auto nothing = "/bin/true";

/// Maximum ratio of a launcher's time to a bare loop's, where starting
/// processes is the dominant cost.
constexpr double loop_ratio_max = 1.3;
constexpr uint32_t loop_ratio_size = 512;

result<void> add_time(figures& to, const program::command& what) {
  const auto time = time_of(what);
  if (!time)
    return time.error();
  to.add(*time);
  return {};
}

// In turns, so that other load on the machine affects all equally.
measured measure_size(setting& s, uint32_t size, row& x) {
  const auto count = std::to_string(size);
  const auto ours = s.command(
    {s.tool("actorrun"), "--nproc-per-node=" + count, "--no-python", nothing});
  const auto loop = s.command({s.tool("spawn_loop"), count, nothing});
  const auto peer = s.command({s.hydra().value_or(""), "-n", count, nothing});
  for (size_t i = 0; i < s.repetitions(); ++i) {
    if (const auto done = add_time(x.ours, ours); !done)
      return done;
    if (const auto done = add_time(x.limit, loop); !done)
      return done;
    if (!s.hydra())
      continue;
    if (const auto done = add_time(x.peer, peer); !done)
      return done;
  }
  return {};
}

} // namespace

measured measure(setting& s) {
  for (const auto size : s.launch_sizes()) {
    auto x = row{.what = "launch " + std::to_string(size) + " " + nothing,
                 .unit = "ms",
                 .goal = "≤ Hydra"};
    if (const auto done = measure_size(s, size, x); !done)
      return done;
    const auto counts = size >= loop_ratio_size;
    if (counts)
      x.goal += ", ≤ 1.3 × spawn loop";
    if (!x.peer.empty())
      x.met = ratio(x.ours, x.peer) <= 1
              && (!counts || ratio(x.ours, x.limit) <= loop_ratio_max);
    print(x);
  }
  return {};
}

} // namespace actorrun::bench::launch_part
