#include "cli/options/timer_options.hpp"

#include "messages/formatted.hpp"

#include <string>

namespace actorrun::cli {

namespace {

/// torchrun's switch: its timers are off unless this is 1. Ours cost nothing until
/// a worker uses them, so they are on unless this is 0.
constexpr auto switch_variable = "TORCHELASTIC_ENABLE_FILE_TIMER";

result<bool> parse_switch(std::string_view text) {
  if (text.empty() || text == "1")
    return true;
  if (text == "0")
    return false;
  return bad_argument(
    formatted("{}: {} is neither 1 (on, as without it) nor 0 (off)",
              switch_variable, in_quotes(text)));
}

/// @returns 0: `auto`
result<std::chrono::milliseconds> parse_hang_timeout(const std::string& text) {
  if (text == "auto")
    return std::chrono::milliseconds{0};
  return parse_span(text, hang_timeout_min, timeout_max);
}

/// @returns whether the worker that hangs is ended
result<bool> parse_on_hang(const std::string& text) {
  if (text == "restart" || text == "report")
    return text == "restart";
  return bad_argument(
    formatted("{} is none of restart, report", in_quotes(text)));
}

} // namespace

void add_timer_options(CLI::App& app, run_settings& out) {
  auto add = option_adder{app, "Timers"};
  add("--no-timer",
      "workers get no FIFO for timers of their own, as with "
      "TORCHELASTIC_ENABLE_FILE_TIMER=0",
      out.no_timer);
  add("--watchdog", "TIME",
      "a worker that has sent WATCHDOG=1 (sd_notify) and sends no other "
      "within this time has failed: 30s, 500ms (default: off)",
      into(out.watchdog, [](const std::string& text) {
        return parse_span(text, watchdog_min, watchdog_max);
      }));
  add(
    "--hang-timeout", "TIME|auto",
    "the job hangs if none of its workers has written to its log files, made a "
    "step, used a timer or sent WATCHDOG=1 for this time: 10m; auto: ten times "
    "its longest step, at least 1m; to be given on all nodes (default: off)",
    into(out.hang_timeout, parse_hang_timeout));
  add("--on-hang", "restart|report",
      "what follows: the worker that is elsewhere than all others is ended, "
      "and the "
      "group starts again, or only actorctl and the log say so (default: "
      "restart)",
      into(out.ends_hung_worker, parse_on_hang));
}

result<void> settle_timers(const run_settings& settings,
                           const host_facts& world, run_arguments& out) {
  const auto is_on = parse_switch(world.variable(switch_variable).value_or(""));
  if (!is_on)
    return is_on.error();
  auto& timers = out.agent.timers;
  timers.enabled = *is_on && !settings.no_timer;
  // To a launcher that is itself a worker it names the FIFO of the one above.
  if (!world.variable("ACTORRUN_JOB_ID"))
    timers.path = world.variable("TORCHELASTIC_TIMER_FILE").value_or("");
  timers.watchdog = settings.watchdog;
  if (settings.ends_hung_worker && !settings.hang_timeout)
    return bad_argument(
      "--on-hang has no effect without --hang-timeout: add the "
      "time after which the job counts as hung");
  if (settings.hang_timeout) {
    out.agent.hangs.timeout = *settings.hang_timeout;
    out.agent.hangs.learns_timeout = settings.hang_timeout->count() == 0;
  }
  out.agent.hangs.ends_worker = settings.ends_hung_worker.value_or(true);
  return {};
}

} // namespace actorrun::cli
