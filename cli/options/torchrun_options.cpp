#include "cli/options/torchrun_options.hpp"

#include "cli/options/spelling.hpp"
#include "messages/formatted.hpp"

#include <algorithm>

namespace actorrun::cli {

namespace {

result<std::string> parse_start_method(const std::string& text) {
  if (text == "spawn" || text == "fork" || text == "forkserver")
    return text;
  return bad_argument(
    formatted("{} is not a start method; spawn, fork and forkserver are",
              in_quotes(text)));
}

/// @returns whether events are logged
result<bool> parse_event_log_handler(const std::string& text) {
  if (text == "console")
    return true;
  // Both names mean no events in torchrun.
  if (text == "null" || text == "dynamic_rendezvous")
    return false;
  return bad_argument(
    formatted("{} is not a handler of events; null and console are. Programs "
              "take them from launcher_hooks::on_event",
              in_quotes(text)));
}

result<void> refuse_logs_specs(const std::string& text) {
  if (text == "default")
    return {};
  return bad_argument(
    formatted("{} would be looked up among Python's entry points, and actorrun "
              "has no Python in it; --log-dir, --redirects, --tee and "
              "--log-line-prefix-template say where output goes, and C++ "
              "programs give the launcher a log_layout",
              in_quotes(text)));
}

result<void> refuse_metrics(const std::string&) {
  return bad_argument("torchrun has no such option either; use --metrics-port"
                      " for Prometheus, --event-log-handler=console for a line"
                      " of JSON per event, or ask: actorctl status --json");
}

} // namespace

std::span<const std::string_view> torchrun_options() {
  static constexpr std::string_view names[] = {
    "--help",
    "--nnodes",
    "--nproc-per-node",
    "--rdzv-backend",
    "--rdzv-endpoint",
    "--rdzv-id",
    "--rdzv-conf",
    "--standalone",
    "--max-restarts",
    "--monitor-interval",
    "--start-method",
    "--event-log-handler",
    "--role",
    "--module",
    "--no-python",
    "--run-path",
    "--log-dir",
    "--redirects",
    "--tee",
    "--local-ranks-filter",
    "--log-line-prefix-template",
    "--duplicate-stdout-filters",
    "--duplicate-stderr-filters",
    "--node-rank",
    "--master-addr",
    "--master-port",
    "--local-addr",
    "--logs-specs",
    "--numa-binding",
    "--signals-to-handle",
    "--shutdown-timeout",
    "--virtual-local-rank",
    "--print-completion",
    "--use-env", // Of torch.distributed.launch alone.
  };
  return names;
}

bool is_torchrun_option(std::string_view name) {
  const auto names = torchrun_options();
  return std::find(names.begin(), names.end(), name) != names.end();
}

void add_torchrun_options(CLI::App& app, run_settings& out) {
  auto add = option_adder{app, "For scripts written for torchrun"};
  add("--event-log-handler", "null|console",
      "console: print each event as a line of JSON on standard error "
      "(default: null, no events)",
      into(out.logs_events, parse_event_log_handler));
  add("--start-method", "spawn|fork|forkserver",
      "accepted, without effect: it applies to Python functions, and "
      "workers are programs",
      into(out.start_method, parse_start_method));
  add("--logs-specs", "default",
      "only default is accepted: other values name Python code",
      refuse_logs_specs);
  add(
    "--pass-local-rank",
    "give SCRIPT the argument --local-rank=N, as torch.distributed.launch does "
    "(default: only if actorrun is called by that name). A script that has "
    "another name for it: SCRIPT --local_rank='${local_rank}'",
    out.passes_local_rank);
  add("--use-env",
      "SCRIPT gets no argument --local-rank; workers always have LOCAL_RANK "
      "(default: so it is, unless --pass-local-rank is given)",
      out.uses_environment);
  option_adder{app, ""}("--metrics-cfg", "TEXT", "", refuse_metrics);
}

void warn_of_ignored_options(const run_settings& settings,
                             const std::vector<given_option>& typed,
                             std::vector<std::string>& warnings) {
  if (contains(typed, "--start-method") && settings.start_method != "spawn")
    warnings.push_back(formatted("--start-method={} has no effect: workers are "
                                 "programs, and each is started anew",
                                 settings.start_method));
}

void warn_of_ignored_variables(const host_facts& world, const CLI::App& app,
                               std::vector<std::string>& warnings) {
  const auto is_other = [](const auto& x) { return !x.starts_with("PET_"); };
  auto set = world.variables();
  std::erase_if(set, is_other);
  if (set.empty())
    return;
  auto known = std::vector<std::string>{};
  for (const auto& option : describe(app).options)
    known.insert(known.end(), option.variables.begin(), option.variables.end());
  std::erase_if(known, is_other);
  for (const auto& name : set)
    if (std::find(known.begin(), known.end(), name) == known.end())
      warnings.push_back(formatted("{} has no effect: no option reads it{}",
                                   name, guess(name, known)));
}

} // namespace actorrun::cli
