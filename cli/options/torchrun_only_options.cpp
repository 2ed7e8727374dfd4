// Options that mean something to torchrun, and little or nothing to us: what
// asks for nothing passes, so that scripts go on working; the rest is refused
// with what to use instead.
#include "cli/options/actorrun_options.hpp"

namespace actorrun::cli {

namespace {

constexpr auto group = "For scripts written for torchrun";

result<std::string> parse_start_method(const std::string& text) {
  if (text == "spawn" || text == "fork" || text == "forkserver")
    return text;
  return bad_argument(in_quotes(text)
                      + " is not a start method; spawn, fork and"
                      + " forkserver are");
}

/// @returns whether events are logged
result<bool> parse_event_log_handler(const std::string& text) {
  if (text == "console")
    return true;
  // torchrun has both names for nothing.
  if (text == "null" || text == "dynamic_rendezvous")
    return false;
  return bad_argument(in_quotes(text) + " is not a handler of events; null and"
                      + " console are. Programs take them from"
                        " launcher_hooks::on_event");
}

std::optional<failure> refuse_logs_specs(const std::string& text) {
  if (text == "default")
    return std::nullopt;
  return bad_argument(
    in_quotes(text) + " would be looked up among Python's entry points, and"
    + " actorrun has no Python in it; --log-dir, --redirects, --tee and"
      " --log-line-prefix-template say where output goes, and C++ programs give"
      " the launcher a log_layout");
}

std::optional<failure> refuse_metrics(const std::string&) {
  return bad_argument("torchrun has no such option either; use"
                      " --event-log-handler=console for a line of JSON per"
                      " event, or ask: actorctl status --json");
}

} // namespace

option_rules torchrun_rules(run_settings& out) {
  return {
    {"--event-log-handler", 0, "null|console", group,
     "console: one line of JSON on standard error for\n"
     "each event (default null: none)",
     into(out.logs_events, parse_event_log_handler)},
    {"--start-method", 0, "spawn|fork|forkserver", group,
     "without effect: it is about Python functions, and\n"
     "workers are programs",
     into(out.start_method, parse_start_method)},
    {"--logs-specs", 0, "default", group,
     "only default: others are Python's entry points", refuse_logs_specs},
    {"--use-env", 0, "", group,
     "without effect: workers have LOCAL_RANK in any\n"
     "case. A script that wants an argument gets it by\n"
     "--local-rank='${local_rank}' behind its name",
     switch_on(out.uses_environment)},
    {"--metrics-cfg", 0, "TEXT", "", "", refuse_metrics},
  };
}

} // namespace actorrun::cli
