#include "cli/options/worker_options.hpp"

#include <limits>

namespace actorrun::cli {

namespace {

constexpr auto group = "Workers";

} // namespace

value_reader restart_count_reader(uint32_t& target) {
  return into(target, count_parser(0, std::numeric_limits<uint32_t>::max()));
}

option_rule exclude_after_rule(const std::string& heading, uint32_t& target) {
  return {"--exclude-after",
          0,
          "N",
          heading,
          "exclude a host after N failures of its workers that have cost a"
          " restart, if enough other nodes are left; the value on the node that"
          " hosts the coordinator counts (default: 0, never)",
          restart_count_reader(target)};
}

option_rule safe_point_timeout_rule(const std::string& heading,
                                    std::chrono::milliseconds& target) {
  return {"--safe-point-timeout",
          0,
          "TIME",
          heading,
          "before a node joins, or another change that can wait, workers that"
          " have safe points get so long to come to the next one; the value on"
          " the node that hosts the coordinator counts (default: 60s; 0: no"
          " time)",
          into(target, [](std::string_view text) {
            return parse_span(text, std::chrono::milliseconds{0});
          })};
}

option_rules worker_rules(run_settings& out) {
  return {
    {"--max-restarts", 0, "N", group,
     "number of worker failures that the job survives (default: 0)",
     restart_count_reader(out.restart_count_max)},
    exclude_after_rule(group, out.exclude_after),
    safe_point_timeout_rule(group, out.safe_point_timeout),
    {"--role", 0, "NAME", group, "label of the workers (default: default)",
     verbatim(out.role)},
    {"--module", 'm', "", group, "SCRIPT is a module: run it as python -m",
     switch_on(out.is_module)},
    {"--no-python", 0, "", group, "SCRIPT is a program, looked up in PATH",
     switch_on(out.no_python)},
    {"--run-path", 0, "", group, "run SCRIPT by Python's runpy.run_path",
     switch_on(out.run_path)},
    {"--virtual-local-rank", 0, "", group,
     "set LOCAL_RANK to 0 in every worker, and let each see one device: the"
     " entry of CUDA_VISIBLE_DEVICES at its local rank",
     switch_on(out.virtual_local_rank)},
    {"--monitor-interval", 0, "SECONDS", group,
     "accepted, without effect: actorrun reacts to events and does not poll",
     into(out.monitor_interval, parse_positive)},
    {"--no-agent-store",
     0,
     "",
     group,
     "the worker with rank 0 serves torch's store at MASTER_PORT (default: the"
     " agent of its node does)",
     switch_on(out.workers_serve_store),
     {"PET_NO_AGENT_STORE", "TORCH_DISABLE_SHARE_RDZV_TCP_STORE"}},
  };
}

} // namespace actorrun::cli
