#include "cli/options/actorrun_options.hpp"

#include "cli/options/caller_options.hpp"
#include "cli/options/check_options.hpp"
#include "cli/options/host_options.hpp"
#include "cli/options/http_options.hpp"
#include "cli/options/log_options.hpp"
#include "cli/options/node_options.hpp"
#include "cli/options/signal_options.hpp"
#include "cli/options/straggler_options.hpp"
#include "cli/options/timer_options.hpp"
#include "cli/options/torchrun_options.hpp"
#include "cli/options/worker_options.hpp"

namespace actorrun::cli {

namespace {

/// torchrun reads no variable for the others.
bool has_variable(std::string_view name) {
  return name != "--logs-specs" && name != "--use-env"
         && name != "--metrics-cfg" && name != "--dry-run"
         && name != "--numa-binding" && caller_option_has_variable(name);
}

} // namespace

run_program::run_program(const std::function<uint32_t()>& cpu_count)
  : app(make_program(
    {"actorrun",
     "run a program as a group of workers on one node or many",
     "Runs a program as a group of workers on one node or many, and restarts "
     "the group when a worker fails or when nodes join or leave.",
     {"actorrun [OPTIONS] SCRIPT [ARGUMENTS…]",
      "actorrun [OPTIONS] -m MODULE [ARGUMENTS…]",
      "actorrun [OPTIONS] --no-python PROGRAM [ARGUMENTS…]"}})) {
  add_node_options(*app, settings);
  add_host_options(*app, settings);
  add_device_options(*app, settings.devices, cpu_count);
  add_worker_options(*app, settings);
  add_log_options(*app, settings);
  add_signal_options(*app, settings);
  add_timer_options(*app, settings);
  add_check_options(*app, settings);
  add_straggler_options(*app, settings);
  auto add_http = option_adder{*app, "Metrics and page"};
  add_http_options(add_http, settings.http);
  add_caller_options(*app, settings);
  add_torchrun_options(*app, settings);
  name_variables(*app, has_variable);
  auto add_other = option_adder{*app, "Other"};
  add_other("--dry-run",
            "print what would be started, where each value comes from and what "
            "is odd about it, and start nothing",
            settings.dry_run);
  add_common_options(add_other, "actorrun", settings.shown);
}

} // namespace actorrun::cli
