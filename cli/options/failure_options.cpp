#include "cli/options/failure_options.hpp"

#include "actors/core/end_class.hpp"
#include "cli/options/values.hpp"
#include "messages/formatted.hpp"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

namespace actorrun::cli {

namespace {

using core::end_action;

constexpr std::pair<std::string_view, end_action> actions_by_name[] = {
  {"restart", end_action::restart},
  {"stop", end_action::stop},
  {"exclude", end_action::exclude},
};

using core::gpu_fault_action;

constexpr std::pair<std::string_view, gpu_fault_action> fault_actions_by_name[]
  = {
    {"report", gpu_fault_action::report},
    {"drain", gpu_fault_action::drain},
    {"exclude", gpu_fault_action::exclude},
};

result<gpu_fault_action> parse_fault_action(const std::string& text) {
  const auto found = value_of(text, fault_actions_by_name);
  return found ? result<gpu_fault_action>{*found}
               : bad_argument(in_quotes(text)
                              + " is none of report, drain, exclude");
}

result<void> add_rule(const std::string& text, core::restart_rules& out) {
  const auto refuse = [&](const std::string& why) {
    return bad_argument(formatted("--on-failure: {} {}", in_quotes(text), why));
  };
  const auto parts = split(text, ':');
  if (parts.size() != 2)
    return refuse("is not CLASS:ACTION, as node:exclude is");
  const auto what = core::trouble_named(trimmed(parts[0]));
  if (!what)
    return refuse("names no class of an end: program, user, node, network,"
                  " preemption, hang and unknown are");
  const auto action = value_of(trimmed(parts[1]), actions_by_name);
  if (!action)
    return refuse("names no action: restart, stop and exclude are");
  auto& known = out.actions[static_cast<size_t>(*what)];
  if (known != end_action::usual && known != *action)
    return refuse(formatted("contradicts {}", rule_text(*what, known)));
  known = *action;
  return {};
}

} // namespace

result<backoff_range> parse_backoff(const std::string& text) {
  const auto parts = split(text, ':');
  if (parts.size() > 2)
    return bad_argument(
      formatted("{} is no wait: MIN or MIN:MAX is, as 1s:2m", in_quotes(text)));
  const auto min = parse_span(parts[0]);
  if (!min)
    return min.error();
  if (parts.size() == 1)
    return backoff_range{*min, std::max(*min, usual_backoff_max)};
  const auto max = parse_span(parts[1]);
  if (!max)
    return max.error();
  if (*max < *min)
    return bad_argument(formatted("{}: the longest wait is shorter than the "
                                  "first",
                                  in_quotes(text)));
  return backoff_range{*min, *max};
}

void add_failure_options(option_adder& add, failure_settings& out) {
  const auto count_reader = [](uint32_t& target) {
    return into(target, count_parser(0, std::numeric_limits<uint32_t>::max()));
  };
  add("--exclude-after", "N",
      "exclude a host after N failures of its workers that have cost a "
      "restart, if enough other nodes are left; the value on the node "
      "that hosts the coordinator counts, as for the next five (default: 0, "
      "never)",
      count_reader(out.exclude_after));
  add("--on-failure", "CLASS:ACTION",
      "what follows from an end of this class: restart, stop (the job ends) or "
      "exclude (the host gets no place any more, and the group starts again); "
      "the classes are program, user, node, network, preemption, hang and "
      "unknown; may be given several times (default: each failure of a worker "
      "costs a restart, and nothing else does)",
      out.on_failure);
  add("--restarts-without-progress", "N",
      "end the job after N restarts in a row in which no worker has passed a "
      "safe point with a higher step than ever before (default: 0, never)",
      count_reader(out.idle_restarts_max));
  add("--restart-backoff", "MIN[:MAX]",
      "wait before the next start if the last two failures were alike: MIN, "
      "then twice as long each time, at most MAX (default: off; MAX: 5m)",
      into(out.backoff, parse_backoff));
  add(
    "--node-failures-are-free",
    "a failure costs no restart if the check of its node that follows it fails "
    "(--check, --check-when=failure)",
    out.node_failures_are_free);
  add(
    "--on-gpu-fault", "report|drain|exclude",
    "what follows when the driver finds fault with a GPU of a node that takes "
    "part: it is told, or its node also leaves once another one can take its "
    "place, or its host gets no place any more if enough others are left "
    "(default: drain)",
    into(out.on_gpu_fault, parse_fault_action));
}

result<core::restart_rules> restart_rules_of(const failure_settings& x) {
  auto out
    = core::restart_rules{.exclude_after = x.exclude_after,
                          .idle_restarts_max = x.idle_restarts_max,
                          .node_failures_are_free = x.node_failures_are_free,
                          .on_gpu_fault = x.on_gpu_fault};
  for (const auto& text : x.on_failure)
    if (auto ok = add_rule(text, out); !ok)
      return ok.error();
  if (x.backoff) {
    out.backoff_min = x.backoff->min;
    out.backoff_max = x.backoff->max;
  }
  return out;
}

} // namespace actorrun::cli
