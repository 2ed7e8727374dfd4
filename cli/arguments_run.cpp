#include "actorrun/cli/arguments_run.hpp"

#include "actorrun/cli/exit_code.hpp"

#include <limits>

namespace actorrun::cli {

namespace {

constexpr auto nodes_group = "Nodes and rendezvous";
constexpr auto workers_group = "Workers";
constexpr auto other_group = "Other";

const auto ignore = value_reader{
  [](const std::string&) -> std::optional<failure> { return std::nullopt; }};

/// How many workers a word for a kind of device stands for.
value_reader slot_count_reader(uint32_t& target,
                               const std::function<uint32_t()>& cpu_count) {
  const auto parse = [cpu_count](const std::string& text) -> result<uint32_t> {
    if (text == "cpu")
      return cpu_count();
    if (text == "gpu" || text == "auto" || text == "xpu")
      return bad_argument(quoted(text) + " is not supported yet; give a number"
                          + " or cpu");
    auto x = parse_count(text, 1, core::slots_per_agent_max);
    if (!x)
      return bad_argument(x.error().text + " and not cpu");
    return x;
  };
  return into(target, parse);
}

option_rules node_rules(run_settings& out) {
  const auto group = nodes_group;
  return {
    {"--nnodes", 0, "N|MIN:MAX", group,
     "nodes of the job (default 1); with MIN:MAX it\n"
     "runs with any number between, and regroups as\nnodes come and go",
     into(out.nodes, parse_node_range)},
    {"--standalone", 0, "", group, "this node alone; no endpoint is used",
     switch_on(out.standalone)},
    {"--rdzv-endpoint", 0, "HOST[:PORT]", group,
     "where the nodes meet (default port 29400); the\n"
     "node with this address hosts the coordinator.\n"
     "IPv6 in brackets: [::1]:29400",
     endpoint_reader(out.rendezvous)},
    {"--rdzv-id", 0, "ID", group,
     "name of the job, the same on all nodes (default\n"
     "none; on a single node a random one)",
     verbatim(out.job)},
    {"--rdzv-backend", 0, "NAME", group,
     "c10d or actor: both are actorrun's coordinator", backend_reader()},
    {"--rdzv-conf", 0, "KEY=VALUE,...", group,
     "times in seconds, or as 300ms, 30s, 5m. Keys:\n"
     "join_timeout 600, last_call_timeout 30,\n"
     "quiet_period 3, join_settle 1, close_timeout 30,\n"
     "read_timeout 60, heartbeat_timeout 5,\n"
     "keep_alive_interval 0.3,\n"
     "keep_alive_max_attempt 3 (a count),\n"
     "fence_guard 0.3, is_host (yes or no)",
     into(out.conf, parse_rendezvous_conf)},
    {"--local-addr", 0, "ADDRESS", group,
     "where other nodes reach this one (default: where\n"
     "its connection to the coordinator goes out)",
     verbatim(out.local_address)},
    {"--secret-file", 0, "FILE", group,
     "the job's secret, readable by its owner only\n"
     "(or the secret itself in ACTORRUN_SECRET)",
     verbatim(out.secret_file)},
  };
}

option_rules worker_rules(run_settings& out,
                          const std::function<uint32_t()>& cpu_count) {
  const auto group = workers_group;
  return {
    {"--nproc-per-node", 0, "N|cpu", group,
     "workers on this node (default 1); cpu: one per\nusable CPU",
     slot_count_reader(out.slot_count, cpu_count)},
    {"--max-restarts", 0, "N", group,
     "worker failures the job survives (default 0)",
     restart_count_reader(out.restart_count_max)},
    {"--role", 0, "NAME", group, "label of the workers (default: default)",
     verbatim(out.role)},
    {"--module", 'm', "", group, "the script is a module: python -m",
     switch_on(out.is_module)},
    {"--no-python", 0, "", group, "the script is a program, looked up in PATH",
     switch_on(out.no_python)},
    {"--monitor-interval", 0, "SECONDS", group,
     "without effect: actorrun waits for events and\ndoes not poll",
     into(out.monitor_interval, parse_positive)},
  };
}

void append(option_rules& out, option_rules more) {
  for (auto& rule : more)
    out.push_back(std::move(rule));
}

} // namespace

value_reader backend_reader() {
  return [](const std::string& text) -> std::optional<failure> {
    if (text == "c10d" || text == "actor")
      return std::nullopt;
    if (text == "static" || text == "etcd" || text == "etcd-v2")
      return bad_argument(quoted(text) + " is not supported yet; use c10d");
    return bad_argument(quoted(text) + " is an unknown backend; c10d and actor"
                        + " are known");
  };
}

value_reader endpoint_reader(std::optional<endpoint>& target) {
  return into(target,
              [](const std::string& text) -> result<std::optional<endpoint>> {
                if (trimmed(text).empty())
                  return std::optional<endpoint>{};
                auto x = parse_endpoint(text);
                if (!x)
                  return x.error();
                return std::optional{*x};
              });
}

value_reader restart_count_reader(uint32_t& target) {
  return into(target, [](const std::string& text) {
    return parse_count(text, 0, std::numeric_limits<uint32_t>::max());
  });
}

option_rules run_rules(run_settings& out,
                       const std::function<uint32_t()>& cpu_count) {
  auto rules = node_rules(out);
  append(rules, worker_rules(out, cpu_count));
  append(rules, log_rules(out));
  append(rules, signal_rules(out));
  append(rules, timer_rules(out));
  for (auto& rule : rules)
    if (rule.variables.empty())
      rule.variables = {variable_of(rule.name)};
  append(rules, {
                  {"--help", 'h', "", other_group, "show this text", ignore},
                  {"--version", 0, "", other_group, "show the version", ignore},
                });
  append(rules, unsupported_rules());
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
    "written with underscores, and set by the variable in brackets. Other\n"
    "options of torchrun are refused: they are not supported yet.",
    "Exit codes:\n" + exit_code_table()
      + "\nExamples:\n"
        "  actorrun --standalone --nproc-per-node=4 train.py --epochs 3\n"
        "  actorrun --nnodes=2:4 --rdzv-endpoint=node1 --rdzv-id=job1 \\\n"
        "           --nproc-per-node=8 --max-restarts=3 train.py",
  };
  return help_text(run_rules(unused, [] { return 1u; }), frame);
}

} // namespace actorrun::cli
