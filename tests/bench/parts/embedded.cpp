#include "tests/bench/parts/parts.hpp"

#include <fstream>

namespace actorrun::bench::embedded_part {

namespace {

/// How much longer a message may take while a job regroups.
constexpr double longer_max = 1.05;

/// A group of it regroups about four times a second.
const auto failing = std::vector<std::string>{"sh", "-c", "sleep 0.2; exit 1"};
const auto idle = std::vector<std::string>{"sleep", "1000"};

struct latency {
  double median = 0; ///< In microseconds, as the other.
  double p99 = 0;
};

std::vector<std::string> joined(std::vector<std::string> a,
                                const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// @param worker Of the host's job; empty: it has none.
result<latency> measure_host(setting& s,
                             const std::vector<std::string>& worker) {
  const auto seconds = std::to_string(s.rest_window().count());
  const auto what
    = s.command(joined({s.tool("embedded_host"), seconds}, worker));
  auto host = program::start(what);
  if (!host)
    return host.error();
  const auto status = host->wait(deadline() + s.rest_window());
  auto out = latency{};
  if (!status || *status != 0
      || !(std::ifstream{what.output} >> out.median >> out.p99))
    return unmeasured("embedded_host: " + last_words(what.output));
  return latency{out.median / 1e3, out.p99 / 1e3};
}

/// The processes cost the same, but in another program.
result<latency> measure_beside(setting& s) {
  auto other = program::start(s.command(
    joined({s.tool("actorrun"), "--standalone", "--max-restarts=1000000",
            "--nproc-per-node=2", "--no-python"},
           failing)));
  if (!other)
    return other.error();
  return measure_host(s, {});
}

} // namespace

measured measure(setting& s) {
  if (const auto there = s.need("embedded_host"); !there)
    return there;
  auto p99
    = row{.what = "a host's actor, p99 while its job regroups (peer: another "
                  "program's job; limit: its job at rest)",
          .unit = "µs",
          .goal = "≤ 1.05 × the limit"};
  auto median = row{.what = "  the median", .unit = "µs"};
  for (size_t i = 0; i < s.stream_repetitions(); ++i) {
    const auto quiet = measure_host(s, idle);
    const auto ours = measure_host(s, failing);
    const auto beside = measure_beside(s);
    for (const auto* x : {&quiet, &ours, &beside})
      if (!*x)
        return x->error();
    p99.ours.add(ours->p99);
    p99.peer.add(beside->p99);
    p99.limit.add(quiet->p99);
    median.ours.add(ours->median);
    median.peer.add(beside->median);
    median.limit.add(quiet->median);
  }
  p99.met = ratio(p99.ours, p99.limit) <= longer_max;
  print(p99);
  print(median);
  return {};
}

} // namespace actorrun::bench::embedded_part
