// Measures how launchers show the lines of many workers, and the cost.

#include "tests/bench/log_launchers.hpp"
#include "tests/bench/parts/parts.hpp"
#include "tests/bench/process_usage.hpp"
#include "tests/bench/tools/line_writer.hpp"

#include <algorithm>
#include <fstream>
#include <utility>

namespace actorrun::bench::streams_part {

namespace {

constexpr size_t worker_count = 8;

/// Lines of each worker that writes as fast as it can: 400 MB in total.
constexpr uint64_t fast_count = 500'000;

/// Lines of each worker that writes slowly: 1.2 s.
constexpr uint64_t slow_count = 50'000;

constexpr double peer_ratio_min = 2;
constexpr double limit_ratio_min = 0.5;

/// Minimum share of a worker's throughput that remains when its lines are
/// shown.
constexpr double write_ratio_min = 0.98;

/// Maximum growth of a launcher while it shows lines.
constexpr double growth_mib_max = 8;

uint64_t scaled(const setting& s, uint64_t count) {
  return s.quick() ? count / 50 : count;
}

struct stream_figures {
  figures speed;
  figures wrong;
};

measured add(setting& s, const log_launcher& x, const std::string& mode,
             uint64_t count, stream_figures& to) {
  const auto account = account_of(s, x, worker_count, mode, count);
  if (!account)
    return account.error();
  to.speed.add(account->megabytes_per_second());
  to.wrong.add(double(account->wrong()));
  return {};
}

// All in turns, so that other load on the machine affects all equally.
measured measure_speed(setting& s) {
  const auto count = scaled(s, fast_count);
  const auto peers = log_peers(s);
  auto ours = stream_figures{};
  auto limit = stream_figures{};
  auto theirs = std::vector<stream_figures>(peers.size());
  for (size_t i = 0; i < s.stream_repetitions(); ++i) {
    if (auto done = add(s, our_tee, "fast", count, ours); !done)
      return done;
    if (auto done = add(s, copy_loop, "fast", count, limit); !done)
      return done;
    for (size_t k = 0; k < peers.size(); ++k)
      if (auto done = add(s, peers[k], "fast", count, theirs[k]); !done)
        return done;
  }
  for (size_t k = 0; k < peers.size(); ++k) {
    auto x = row{.what = "labelled lines of 8, beside " + peers[k].name,
                 .unit = "MB/s",
                 .ours = ours.speed,
                 .peer = theirs[k].speed,
                 .goal = "≥ 2 × peer"};
    x.met = ratio(x.ours, x.peer) >= peer_ratio_min;
    print(x);
    print({.what = "  lines torn, lost or misplaced",
           .ours = ours.wrong,
           .peer = theirs[k].wrong,
           .goal = "0",
           .met = ours.wrong.max() == 0});
  }
  auto x = row{.what = "labelled lines of 8, beside a copy loop",
               .unit = "MB/s",
               .ours = ours.speed,
               .limit = limit.speed,
               .goal = "≥ 0.5 × limit"};
  x.met = ratio(x.ours, x.limit) >= limit_ratio_min;
  print(x);
  return {};
}

measured measure_slow_writers(setting& s) {
  const auto count = scaled(s, slow_count);
  auto ours = stream_figures{};
  if (auto done = add(s, our_tee, "slow", count, ours); !done)
    return done;
  const auto what
    = "of " + std::to_string(worker_count * count) + " slow lines wrong";
  auto x = row{.what = what,
               .ours = ours.wrong,
               .goal = "0",
               .met = ours.wrong.max() == 0};
  const auto peers = log_peers(s);
  if (peers.empty())
    print(x);
  for (const auto& peer : peers) {
    auto theirs = stream_figures{};
    if (auto done = add(s, peer, "slow", count, theirs); !done)
      return done;
    x.what = what + ", beside " + peer.name;
    x.peer = theirs.wrong;
    print(x);
  }
  return {};
}

/// The rate at which one worker wrote, in MB/s.
result<double> write_speed(setting& s, const log_launcher& x, uint64_t count) {
  settle();
  const auto path = s.new_file();
  std::ofstream{path};
  auto run
    = start(s, x, 1, {s.tool("line_writer"), "fast", std::to_string(count)},
            {std::string{result_file_variable} + "=" + path});
  if (!run)
    return run.error();
  if (auto account = run->console.read(count); !account)
    return account.error();
  run->launcher.wait(deadline());
  auto record = write_record{};
  if (!std::ifstream{path, std::ios::binary}.read(
        reinterpret_cast<char*>(&record), sizeof record))
    return unmeasured(x.name + ": the worker has written nothing down");
  return double(record.bytes) * 1e3 / double(record.nanoseconds);
}

measured measure_cost(setting& s) {
  const auto count = scaled(s, worker_count * fast_count);
  auto x = row{.what = "one worker writes; limit: to the file alone",
               .unit = "MB/s",
               .goal = "≥ 0.98 × limit"};
  for (size_t i = 0; i < s.repetitions(); ++i) {
    const auto teed = write_speed(s, our_tee, count);
    if (!teed)
      return teed.error();
    x.ours.add(*teed);
    const auto alone = write_speed(s, our_files, count);
    if (!alone)
      return alone.error();
    x.limit.add(*alone);
  }
  x.met = ratio(x.ours, x.limit) >= write_ratio_min;
  print(x);
  return {};
}

measured measure_memory(setting& s) {
  const auto count = scaled(s, fast_count);
  auto run = start(s, our_tee, worker_count,
                   {s.tool("line_writer"), "fast", std::to_string(count)});
  if (!run)
    return run.error();
  const auto all = worker_count * count;
  auto early = 0.0;
  auto last = 0.0;
  const auto look = [&](uint64_t line_count) {
    const auto now = resident_mib(run->launcher.pid());
    if (line_count < all / 10)
      early = std::max(early, now);
    last = std::max(last, now);
  };
  if (auto account = run->console.read(count, look); !account)
    return account.error();
  auto x = row{.what = "  memory: growth from 10 % of the lines on",
               .unit = "MiB",
               .goal = "flat: ≤ 8 MiB"};
  x.ours.add(last - early);
  x.met = x.ours.max() <= growth_mib_max;
  print(x);
  return {};
}

} // namespace

measured measure(setting& s) {
  if (auto done = measure_speed(s); !done)
    return done;
  if (auto done = measure_memory(s); !done)
    return done;
  if (auto done = measure_slow_writers(s); !done)
    return done;
  return measure_cost(s);
}

} // namespace actorrun::bench::streams_part
