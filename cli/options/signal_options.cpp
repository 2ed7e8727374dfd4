#include "cli/options/signal_options.hpp"

#include "actors/core/text.hpp"
#include "cli/options/signal_values.hpp"
#include "cli/options/values.hpp"
#include "messages/formatted.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <string>
#include <utility>

namespace actorrun::cli {

namespace {

bool contains(const std::vector<int>& signals, int x) {
  return std::find(signals.begin(), signals.end(), x) != signals.end();
}

result<signal_choice> parse_signals_to_handle(const std::string& text) {
  auto x = parse_known_signals(text);
  if (!x.signals.empty())
    return x;
  if (!x.left_out.empty())
    return bad_argument(x.left_out.front());
  return bad_argument("no signal is named, so each would kill actorrun and"
                      " its workers without notice");
}

/// @returns whether the stop signal reaches what workers have started, too
result<bool> parse_stop_scope(const std::string& text) {
  if (text == "group" || text == "worker")
    return text == "group";
  return bad_argument(
    formatted("{} is none of group, worker", in_quotes(text)));
}

/// Whole seconds, as torchrun has them, or a time with a unit.
result<std::chrono::milliseconds>
parse_shutdown_timeout(const std::string& text) {
  const auto has_unit
    = !text.empty() && std::isalpha(static_cast<unsigned char>(text.back()));
  return has_unit ? parse_span(text, std::chrono::milliseconds{0})
                  : parse_whole_seconds(text);
}

result<int> parse_notice_signal(const std::string& text) {
  return text == "none" ? result<int>{0} : parse_stop_signal(text);
}

result<std::string> parse_notice_command(const std::string& text) {
  if (trimmed(text).empty())
    return bad_argument("a command for the shell is missing");
  return text;
}

/// What to write so that `signal` is free for other use.
std::string without(std::vector<int> signals, int signal) {
  std::erase(signals, signal);
  return signals.empty() ? "another one in --signals-to-handle"
                         : "--signals-to-handle=" + signal_names(signals);
}

constexpr auto kill_timeout_variable
  = "TORCHELASTIC_UNINTERRUPTIBLE_STATE_TIMEOUT";

/// Seconds, maybe with a fraction. As with torch 0 and less are as good as
/// nothing.
result<std::optional<std::chrono::milliseconds>>
parse_kill_timeout(const std::string& text) {
  using std::chrono::milliseconds;
  auto seconds = 0.0;
  const auto [end, error]
    = std::from_chars(text.data(), text.data() + text.size(), seconds);
  const auto max = std::chrono::duration<double>{timeout_max}.count();
  if (!text.empty()
      && (error != std::errc{} || end != text.data() + text.size()
          || !(seconds <= max)))
    return bad_argument(formatted("{}: {} is no number of seconds up to {}",
                                  kill_timeout_variable, in_quotes(text),
                                  uint64_t(max)));
  if (seconds <= 0)
    return std::optional<milliseconds>{};
  return std::optional{
    std::chrono::ceil<milliseconds>(std::chrono::duration<double>{seconds})};
}

} // namespace

// SIGTERM is not among those that may stay ignored: schedulers and service managers
// end nodes with it, and kill what does not heed it.
std::vector<int> default_signals(const host_facts& world) {
  auto out = std::vector{SIGTERM, SIGINT, SIGHUP, SIGQUIT};
  std::erase_if(out,
                [&](int x) { return x != SIGTERM && world.is_ignored(x); });
  return out;
}

void add_signal_options(CLI::App& app, run_settings& out) {
  auto add = option_adder{app, "Signals"};
  add("--signals-to-handle", "SIGNALS",
      "signals that end this node's part of the job; its workers get "
      "them, too (default: SIGTERM,SIGINT,SIGHUP,SIGQUIT)",
      into(out.signals_to_handle, parse_signals_to_handle));
  add("--signals-to-forward", "SIGNALS",
      "signals that are passed on to the workers while the job goes on, "
      "such as SIGUSR1 to request a checkpoint (default: none)",
      into(out.signals_to_forward, parse_signals));
  add("--stop-signal", "SIGNAL",
      "signal that asks workers to end (default: SIGTERM, or the signal "
      "that actorrun got)",
      into(out.stop_signal, parse_stop_signal));
  add(
    "--stop-scope", "group|worker",
    "whom the stop signal reaches: the worker and what it has started, or the "
    "worker alone, whose data loaders live on while it saves; SIGKILL comes "
    "to all of them (default: group, as with torchrun)",
    into(out.stops_children, parse_stop_scope));
  add("--notice-signal", "SIGNAL",
      "signal that tells workers to save their work, because their node is to "
      "leave (actorctl drain); none: they are not told (default: SIGUSR1)",
      into(out.notice_signal, parse_notice_signal));
  add("--notice-before", "TIME",
      "under Slurm: so long before the time limit of the job or of its "
      "step the workers save at a safe point, or get the --notice-signal "
      "(120s, 5m; default: they do not)",
      into(out.notice_before, span_parser(std::chrono::seconds{1})));
  add(
    "--notice-file", "FILE",
    "this node is drained when this file appears, or changes if it is there at "
    "the start, because its machine is about to go; its first line says why "
    "(default: none)",
    into(out.notices.file, parse_file_name));
  add("--notice-command", "COMMAND",
      "a command for the shell that runs beside the job; when it ends with 0, "
      "this node is drained, and its last line of output says why; otherwise "
      "it is started again after a pause (default: none)",
      into(out.notices.command, parse_notice_command));
  add("--shutdown-timeout", "TIME",
      "time from the stop signal to SIGKILL, whatever the reason for the "
      "stop (default: 30; 0 kills at once)",
      into(out.grace_period, parse_shutdown_timeout),
      "TORCH_ELASTIC_SHUTDOWN_TIMEOUT");
}

result<void> settle_signals(const run_settings& settings,
                            const host_facts& world, run_arguments& out) {
  const auto handled = settings.signals_to_handle.value_or(
    signal_choice{default_signals(world), {}});
  out.signals_to_handle = handled.signals;
  // As in torchrun, the others are handled.
  for (const auto& why : handled.left_out)
    out.warnings.push_back(
      formatted("--signals-to-handle: {}; it is left out", why));
  out.signals_to_forward = settings.signals_to_forward;
  for (auto x : out.signals_to_forward) {
    if (contains(out.signals_to_handle, x))
      return bad_argument(
        formatted("--signals-to-forward: {} ends this node's part of the job; "
                  "to pass it on only, give {}",
                  core::signal_name(x), without(out.signals_to_handle, x)));
    if (settings.stop_signal == x)
      return bad_argument(
        formatted("--signals-to-forward: {} is also the --stop-signal, and "
                  "workers could not distinguish the two",
                  core::signal_name(x)));
  }
  auto& workers = out.agent.workers;
  workers.stop_signal = settings.stop_signal.value_or(workers.stop_signal);
  workers.is_stop_signal_fixed = settings.stop_signal.has_value();
  workers.stops_children = settings.stops_children;
  workers.notice_signal
    = settings.notice_signal.value_or(workers.notice_signal);
  if (settings.notice_signal && *settings.notice_signal == workers.stop_signal)
    return bad_argument(
      formatted("--notice-signal: {} also stops workers, and they could not "
                "distinguish the two",
                core::signal_name(workers.stop_signal)));
  out.agent.notices = settings.notices;
  out.agent.signals_to_handle = signal_names(out.signals_to_handle);
  const auto timeout
    = parse_kill_timeout(world.variable(kill_timeout_variable).value_or(""));
  if (!timeout)
    return timeout.error();
  workers.kill_timeout = timeout->value_or(workers.kill_timeout);
  return {};
}

} // namespace actorrun::cli
