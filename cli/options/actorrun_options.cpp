#include "cli/options/actorrun_options.hpp"

#include "cli/options/host_options.hpp"
#include "cli/options/http_options.hpp"
#include "cli/options/log_options.hpp"
#include "cli/options/node_options.hpp"
#include "cli/options/signal_options.hpp"
#include "cli/options/timer_options.hpp"
#include "cli/options/torchrun_options.hpp"
#include "cli/options/worker_options.hpp"

#include <utility>

namespace actorrun::cli {

namespace {

constexpr auto group = "Other";

/// torchrun reads no variable for these.
bool has_no_variable(const std::string& name) {
  return name == "--logs-specs" || name == "--use-env"
         || name == "--metrics-cfg" || name == "--numa-binding";
}

} // namespace

option_rules run_rules(run_settings& out,
                       const std::function<uint32_t()>& cpu_count) {
  auto rules = node_rules(out);
  append(rules, host_rules(out));
  append(rules, device_rules(out.devices, cpu_count));
  append(rules, worker_rules(out));
  append(rules, log_rules(out));
  append(rules, signal_rules(out));
  append(rules, timer_rules(out));
  append(rules, http_rules("Metrics and page", out.http));
  append(rules, torchrun_rules(out));
  for (auto& rule : rules)
    if (rule.variables.empty() && !has_no_variable(rule.name))
      rule.variables = {variable_of(rule.name)};
  append(rules, {help_rule(group), version_rule(group),
                 completion_rule("actorrun", group, out.completion)});
  return rules;
}

} // namespace actorrun::cli
