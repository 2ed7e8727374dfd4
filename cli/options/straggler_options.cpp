#include "cli/options/straggler_options.hpp"

#include "actors/core/stragglers/straggler.hpp"
#include "cli/options/values.hpp"
#include "messages/formatted.hpp"

#include <string>

namespace actorrun::cli {

namespace {

result<straggler_policy> parse_policy(const std::string& text) {
  if (text == "report")
    return straggler_policy::report;
  if (text == "check")
    return straggler_policy::check;
  if (text == "drain")
    return straggler_policy::drain;
  return bad_argument(
    formatted("{} is none of report, check, drain", in_quotes(text)));
}

} // namespace

void add_straggler_options(CLI::App& app, run_settings& out) {
  auto add = option_adder{app, "Stragglers"};
  add("--straggler-distance", "N",
      "a worker that says how long it computes per step is slower than the "
      "others if it takes longer by N times their usual difference; 0: no "
      "worker is watched (default: 6)",
      into(out.straggler_distance,
           count_parser(0, core::straggler_distance_max)));
  add(
    "--straggler-windows", "N",
    "for so many windows in a row, each of five steps and one second at "
    "least (default: 5)",
    into(out.straggler_windows, count_parser(1, core::straggler_windows_max)));
  add("--on-straggler", "report|check|drain",
      "what follows: it is named, or the checks of its node run as well, or "
      "its node leaves when another one can take its place (default: report)",
      into(out.on_straggler, parse_policy));
}

result<void> settle_stragglers(const run_settings& settings,
                               run_arguments& out) {
  auto& stragglers = out.agent.stragglers;
  stragglers.distance
    = settings.straggler_distance.value_or(stragglers.distance);
  stragglers.windows = settings.straggler_windows.value_or(stragglers.windows);
  stragglers.policy = settings.on_straggler.value_or(stragglers.policy);
  if (stragglers.distance == 0
      && (settings.on_straggler || settings.straggler_windows))
    return bad_argument("--on-straggler and --straggler-windows have no effect "
                        "with --straggler-distance=0");
  if (stragglers.policy == straggler_policy::check
      && out.agent.checks.commands.empty())
    return bad_argument("--on-straggler=check has no effect without --check: "
                        "add a command that checks the node");
  return {};
}

} // namespace actorrun::cli
