#include "cli/options/worker_options.hpp"

#include "actors/core/generation.hpp"
#include "cli/options/failure_options.hpp"

#include <limits>

namespace actorrun::cli {

value_reader restart_count_reader(uint32_t& target) {
  return into(target, count_parser(0, std::numeric_limits<uint32_t>::max()));
}

void add_exclude_file(option_adder& add, std::string& target) {
  add(
    "--exclude-file", "FILE",
    "exclude the hosts that FILE names, one per line with a time and a reason, "
    "and have it name those that this job excludes, for later jobs; the value "
    "on the node that hosts the coordinator counts (default: none)",
    target);
}

void add_safe_point_timeout(option_adder& add,
                            std::chrono::milliseconds& target) {
  add("--safe-point-timeout", "TIME",
      "before a node joins, or another change that can wait, workers that have "
      "safe points get so long to come to the next one; the value on the node "
      "that hosts the coordinator counts (default: 60s; 0: no time)",
      into(target, span_parser(std::chrono::milliseconds{0})));
}

void add_worker_options(CLI::App& app, run_settings& out) {
  auto add = option_adder{app, "Workers"};
  add("--max-restarts", "N",
      "number of worker failures that the job survives (default: 0)",
      restart_count_reader(out.restart_count_max));
  add_failure_options(add, out.failures);
  add("--class-exit-codes",
      "end with a code that says of which class the failure was that has ended "
      "the job, 40 to 47, in place of 1",
      out.has_class_codes);
  add_exclude_file(add, out.exclude_file);
  add_safe_point_timeout(add, out.safe_point_timeout);
  add(
    "--spares", "N",
    "keep N processes per node beside the workers that have imported and wait "
    "for the place of one that ends; for live workers (default: 0)",
    into(out.spare_count, count_parser(0, core::slots_per_agent_max)));
  add("--role", "NAME", "label of the workers (default: default)", out.role);
  add("-m,--module", "SCRIPT is a module: run it as python -m", out.is_module);
  add("--no-python", "SCRIPT is a program, looked up in PATH", out.no_python);
  add("--run-path", "run SCRIPT by Python's runpy.run_path", out.run_path);
  add("--virtual-local-rank",
      "set LOCAL_RANK to 0 in every worker, and let each see one "
      "device: the entry of CUDA_VISIBLE_DEVICES at its local rank",
      out.virtual_local_rank);
  add("--monitor-interval", "SECONDS",
      "accepted, without effect: actorrun reacts to events and does not poll",
      into(out.monitor_interval, parse_positive));
  add("--no-agent-store",
      "the worker with rank 0 serves torch's store at MASTER_PORT "
      "(default: the agent of its node does)",
      out.workers_serve_store, "TORCH_DISABLE_SHARE_RDZV_TCP_STORE");
}

} // namespace actorrun::cli
