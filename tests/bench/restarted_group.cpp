#include "tests/bench/restarted_group.hpp"

#include <csignal>

namespace actorrun::bench {

result<restarted_group>
start_group(setting& s, std::vector<std::string> arguments, size_t count) {
  auto tracker = s.new_tracker();
  if (!tracker)
    return tracker.error();
  const auto what = s.command(std::move(arguments), {tracker->variable()});
  auto launcher = program::start(what);
  if (!launcher)
    return launcher.error();
  auto workers = tracker->await(0, count);
  if (!workers)
    return unmeasured(what.arguments[0] + ": " + workers.error().text + ": "
                      + last_words(what.output));
  return restarted_group{std::move(*launcher), std::move(*tracker),
                         std::move(*workers)};
}

result<restarted_group> start_loop(setting& s, size_t count) {
  return start_group(
    s, {s.tool("respawn_loop"), std::to_string(count), s.tool("stamp")}, count);
}

result<double> kill_and_await(pid_t victim, stamp_tracker& tracker,
                              stamps& newest, size_t count) {
  settle();
  const auto begin = stamp_now();
  ::kill(victim, SIGKILL);
  auto next = tracker.await(newest[0].generation, count);
  if (!next)
    return next.error();
  newest = std::move(*next);
  return milliseconds_between(begin, last_start(newest));
}

} // namespace actorrun::bench
