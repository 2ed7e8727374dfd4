#include "tests/bench/parts/parts.hpp"

#include <fstream>

#include <sys/stat.h>

namespace actorrun::bench::hosts_part {

namespace {

constexpr uint32_t host_count = 64;
constexpr uint32_t host_count_quick = 4;

/// In milliseconds, with what ssh takes.
constexpr double all_hosts_max = 2'000;

/// Takes as long as ssh to a host nearby, and runs the command here.
constexpr auto stand_in = R"(#!/bin/sh
sleep 0.2
export SSH_CONNECTION="127.0.0.1 1 127.0.0.1 22"
exec sh -c "$2"
)";

result<std::string> new_stand_in(setting& s) {
  const auto path = s.new_file();
  if (!(std::ofstream{path} << stand_in << std::flush)
      || ::chmod(path.c_str(), 0700) != 0)
    return unmeasured("cannot write " + path);
  return path;
}

std::string hosts(uint32_t count) {
  auto out = std::string{};
  for (uint32_t i = 0; i < count; ++i)
    out += (i == 0 ? "host-" : ",host-") + std::to_string(i);
  return out;
}

/// @returns milliseconds from its start to that of the last worker
result<double> start_all(setting& s, const std::string& rsh, uint32_t count) {
  auto tracker = s.new_tracker();
  if (!tracker)
    return tracker.error();
  const auto what = s.command({s.tool("actorrun"), "--hosts=" + hosts(count),
                               "--rsh=" + rsh, "--no-python", s.tool("stamp")},
                              {tracker->variable()});
  settle();
  const auto begin = stamp_now();
  auto job = program::start(what);
  if (!job)
    return job.error();
  const auto workers = tracker->await(0, count);
  if (!workers)
    return unmeasured(workers.error().text + ": " + last_words(what.output));
  return milliseconds_between(begin, last_start(*workers));
}

/// The limit: what the shell needs to run a program through as many stand-ins.
result<double> run_all(setting& s, const std::string& rsh, uint32_t count) {
  return time_of(s.command({"sh", "-c",
                            "for i in $(seq " + std::to_string(count) + "); do "
                              + rsh + " host-$i /bin/true & done; wait"}));
}

} // namespace

measured measure(setting& s) {
  const auto count = s.quick() ? host_count_quick : host_count;
  const auto rsh = new_stand_in(s);
  if (!rsh)
    return rsh.error();
  auto x = row{.what = std::to_string(count)
                       + " hosts by a stand-in for ssh: last worker",
               .unit = "ms",
               .goal = "≤ 2000 ms"};
  for (size_t i = 0; i < s.stream_repetitions(); ++i) {
    const auto ours = start_all(s, *rsh, count);
    if (!ours)
      return ours.error();
    const auto limit = run_all(s, *rsh, count);
    if (!limit)
      return limit.error();
    x.ours.add(*ours);
    x.limit.add(*limit);
  }
  x.met = x.ours.median() <= all_hosts_max;
  print(x);
  return {};
}

} // namespace actorrun::bench::hosts_part
