#include "cli/options/actorrun_options.hpp"

#include "cli/report/exit_code.hpp"

#include <limits>

namespace actorrun::cli {

namespace {

constexpr auto workers_group = "Workers";
constexpr auto other_group = "Other";

const auto ignore = value_reader{
  [](const std::string&) -> std::optional<failure> { return std::nullopt; }};

option_rules worker_rules(run_settings& out) {
  const auto group = workers_group;
  return {
    {"--max-restarts", 0, "N", group,
     "worker failures the job survives (default 0)",
     restart_count_reader(out.restart_count_max)},
    {"--role", 0, "NAME", group, "label of the workers (default: default)",
     verbatim(out.role)},
    {"--module", 'm', "", group, "the script is a module: python -m",
     switch_on(out.is_module)},
    {"--no-python", 0, "", group, "the script is a program, looked up in PATH",
     switch_on(out.no_python)},
    {"--run-path", 0, "", group,
     "the script, given by its absolute path, runs by\n"
     "Python's runpy.run_path",
     switch_on(out.run_path)},
    {"--virtual-local-rank", 0, "", group,
     "each worker has LOCAL_RANK 0 and sees one device:\n"
     "of CUDA_VISIBLE_DEVICES the one at its local rank",
     switch_on(out.virtual_local_rank)},
    {"--monitor-interval", 0, "SECONDS", group,
     "without effect: actorrun waits for events and\ndoes not poll",
     into(out.monitor_interval, parse_positive)},
  };
}

/// torchrun reads no variable for these.
bool has_no_variable(const std::string& name) {
  return name == "--logs-specs" || name == "--use-env"
         || name == "--metrics-cfg" || name == "--numa-binding";
}

void append(option_rules& out, option_rules more) {
  for (auto& rule : more)
    out.push_back(std::move(rule));
}

} // namespace

value_reader restart_count_reader(uint32_t& target) {
  return into(target, count_parser(0, std::numeric_limits<uint32_t>::max()));
}

option_rules run_rules(run_settings& out,
                       const std::function<uint32_t()>& cpu_count) {
  auto rules = node_rules(out);
  append(rules, device_rules(out.devices, cpu_count));
  append(rules, worker_rules(out));
  append(rules, store_rules(out.store));
  append(rules, log_rules(out));
  append(rules, signal_rules(out));
  append(rules, timer_rules(out));
  append(rules, torchrun_rules(out));
  for (auto& rule : rules)
    if (rule.variables.empty() && !has_no_variable(rule.name))
      rule.variables = {variable_of(rule.name)};
  append(rules, {
                  {"--help", 'h', "", other_group, "show this text", ignore},
                  {"--version", 0, "", other_group, "show the version", ignore},
                  {"--print-completion", 0, "bash|zsh|fish|tcsh", other_group,
                   "show a script that completes options in a shell:\n"
                   "source <(actorrun --print-completion=bash)",
                   into(out.completion, parse_shell)},
                });
  return rules;
}

std::string run_help() {
  auto unused = run_settings{};
  const auto frame = help_frame{
    "Runs a program as a group of workers on one node or many, and restarts\n"
    "them together when one fails or nodes come and go.\n",
    "Usage: actorrun [OPTIONS] SCRIPT [ARGUMENTS…]\n"
    "       actorrun [OPTIONS] -m MODULE [ARGUMENTS…]\n"
    "       actorrun [OPTIONS] --no-python PROGRAM [ARGUMENTS…]\n\n"
    "Everything after SCRIPT is handed to it. Scripts run with "
    "$PYTHON_EXEC,\n"
    "python3 or python; a SCRIPT that is an ELF program runs by itself.\n"
    "${local_rank} stands for a worker's rank on its node. Options may be\n"
    "written with underscores, cut short where that is clear, and set by the\n"
    "variable in brackets.",
    "Exit codes:\n" + exit_code_table()
      + "\nExamples:\n"
        "  actorrun --standalone --nproc-per-node=4 train.py --epochs 3\n"
        "  actorrun --nnodes=2:4 --rdzv-endpoint=node1 --rdzv-id=job1 \\\n"
        "           --nproc-per-node=8 --max-restarts=3 train.py",
  };
  return help_text(run_rules(unused, [] { return 1u; }), frame);
}

} // namespace actorrun::cli
