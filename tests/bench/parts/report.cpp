// Measures the time from the death of a worker to the last line of the report.

#include "tests/bench/log_launchers.hpp"
#include "tests/bench/parts/parts.hpp"

namespace actorrun::bench::report_part {

namespace {

constexpr double report_ms_max = 20;

/// Milliseconds from just before the death to the last byte on the console.
result<double> report_time(setting& s, const log_launcher& x) {
  settle();
  auto tracker = s.new_tracker();
  if (!tracker)
    return tracker.error();
  auto run
    = start(s, x, 1, {s.tool("line_writer"), "fail"}, {tracker->variable()});
  if (!run)
    return run.error();
  const auto shown = run->console.read_text();
  if (!shown)
    return shown.error();
  for (const auto* part : {"last words", "Root Cause"})
    if (shown->text.find(part) == std::string::npos)
      return unmeasured(x.name + " reports no death: " + shown->text);
  return milliseconds_between(last_start(tracker->read()), shown->last);
}

} // namespace

measured measure(setting& s) {
  auto x = row{
    .what = "death of a worker → full report", .unit = "ms", .goal = "≤ 20 ms"};
  for (size_t i = 0; i < s.repetitions(); ++i) {
    const auto ours = report_time(s, our_tee);
    if (!ours)
      return ours.error();
    x.ours.add(*ours);
    if (!s.python_with_torch() || i >= s.stream_repetitions())
      continue;
    const auto peer = report_time(s, torchrun_errors);
    if (peer)
      x.peer.add(*peer);
    else
      of_peer("torchrun", peer.error());
  }
  x.met = x.ours.median() <= report_ms_max;
  print(x);
  return {};
}

} // namespace actorrun::bench::report_part
