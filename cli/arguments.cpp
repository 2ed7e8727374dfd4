#include "actorrun/cli/arguments.hpp"

#include "actorrun/cli/arguments_logs.hpp"
#include "actorrun/cli/arguments_run.hpp"
#include "actorrun/cli/arguments_scan.hpp"
#include "actorrun/cli/arguments_signals.hpp"
#include "actorrun/cli/arguments_timers.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace actorrun::cli {

namespace {

bool asks_for(const scanned_words& words, const std::string& name) {
  return std::any_of(words.options.begin(), words.options.end(),
                     [&](const auto& x) { return x.name == name; });
}

/// `--standalone` wins over everything that names other nodes.
std::optional<failure> settle_standalone(const run_settings& settings,
                                         run_arguments& out) {
  if (settings.nodes.min > 1)
    return bad_argument("--nnodes needs " + std::to_string(settings.nodes.min)
                        + " nodes, and with --standalone nobody else can come");
  if (settings.nodes.max > 1)
    out.warnings.emplace_back(
      "--standalone: the maximum of --nnodes is ignored,"
      " the job has one node");
  // localhost:0 asks for what --standalone does, and scripts write both.
  if (settings.rendezvous && settings.rendezvous->port != 0)
    out.warnings.emplace_back("--standalone: --rdzv-endpoint is ignored");
  return std::nullopt;
}

/// Decides whether the job is of this node alone, and else where it meets.
std::optional<failure> settle_nodes(const run_settings& settings,
                                    run_arguments& out) {
  if (settings.standalone)
    return settle_standalone(settings, out);
  const auto nodes = settings.nodes;
  if (!settings.rendezvous && nodes.max > 1)
    return bad_argument(
      "--nnodes with more than one node needs --rdzv-endpoint, the address of"
      " one of them: actorrun --nnodes=2 --rdzv-endpoint=node1:29400 …");
  // torchrun's manual starts a job of one node with the endpoint localhost:0.
  if (!settings.rendezvous
      || (settings.rendezvous->port == 0 && nodes.max == 1))
    return std::nullopt;
  if (settings.rendezvous->port == 0)
    return bad_argument("--rdzv-endpoint: port 0 stands for any free port,"
                        " which the other nodes cannot know");
  out.job.rendezvous = settings.rendezvous;
  out.job.agent_count_min = nodes.min;
  out.job.agent_count_max = nodes.max;
  return std::nullopt;
}

/// @pre the nodes are settled
std::optional<failure> settle_job_id(const run_settings& settings,
                                     const surroundings& world,
                                     run_arguments& out) {
  const auto is_empty = settings.job && settings.job->empty();
  if (is_empty && out.job.agent_count_max > 1)
    return bad_argument("--rdzv-id is empty: every node would make up an id of"
                        " its own, and they would never meet");
  if (is_empty)
    out.warnings.emplace_back("--rdzv-id is empty: the job gets a random id");
  if (settings.job && !is_empty) {
    out.job.job.value = *settings.job;
  } else if (out.job.rendezvous && !is_empty) {
    out.job.job.value = "none";
    out.warnings.emplace_back(
      "--rdzv-id is not given: the job is called \"none\","
      " as all jobs without an id are");
  } else {
    out.job.job.value = world.random_id();
  }
  return std::nullopt;
}

std::optional<failure> settle_secret(const run_settings& settings,
                                     const surroundings& world,
                                     run_arguments& out) {
  auto secret = secret_of(settings.secret_file, world);
  if (!secret)
    return secret.error();
  out.job.secret = *std::move(secret);
  return std::nullopt;
}

std::optional<failure> settle_program(const run_settings& settings,
                                      std::vector<std::string> words,
                                      const surroundings& world,
                                      run_arguments& out) {
  if (settings.no_python && settings.is_module)
    return bad_argument("--no-python and --module exclude each other");
  if (words.empty() || words.front().empty())
    return bad_argument("there is no script, module or program to run");
  out.program.name = std::move(words.front());
  words.erase(words.begin());
  out.program.arguments = std::move(words);
  out.program.is_module = settings.is_module;
  out.program.no_python = settings.no_python;
  out.program.interpreter = world.variable("PYTHON_EXEC").value_or("");
  return std::nullopt;
}

/// What is typed in vain is refused; what a variable says in vain is not, for
/// an environment serves many jobs.
std::optional<failure> settle_logs(const run_settings& settings,
                                   const scanned_words& typed,
                                   run_arguments& out) {
  if (auto why = check_log_ranks(settings))
    return why;
  for (const auto& x : idle_log_options(settings)) {
    const auto is_typed = asks_for(typed, x.name);
    const auto text = x.name + ": " + x.why;
    if (is_typed && !x.is_harmless)
      return bad_argument(text);
    if (is_typed || !x.is_harmless)
      out.warnings.push_back(text);
  }
  out.agent.logs = settings.logs;
  out.agent.logs.rotate_keep
    = settings.rotate_keep.value_or(out.agent.logs.rotate_keep);
  return std::nullopt;
}

void copy_plain(const run_settings& settings, run_arguments& out) {
  out.warnings = settings.conf.warnings;
  out.job.timeouts = settings.conf.timeouts;
  out.job.place = settings.conf.place;
  out.job.restart_count_max = settings.restart_count_max;
  out.agent.local_address = settings.local_address;
  out.agent.workers.slot_count = settings.slot_count;
  out.agent.workers.role = settings.role;
  out.agent.workers.grace_period = settings.grace_period;
}

std::optional<failure> check(const run_arguments& x) {
  if (auto ok = validate(x.job); !ok)
    return ok.error();
  auto agent = x.agent;
  agent.workers.command = {x.program.name};
  if (auto ok = validate(agent); !ok)
    return ok.error();
  return std::nullopt;
}

result<run_command> put_together(const run_settings& settings,
                                 const scanned_words& typed,
                                 const surroundings& world) {
  auto out = run_arguments{};
  copy_plain(settings, out);
  if (auto why = settle_nodes(settings, out))
    return *why;
  if (auto why = settle_job_id(settings, world, out))
    return *why;
  if (auto why = settle_program(settings, typed.rest, world, out))
    return *why;
  if (auto why = settle_logs(settings, typed, out))
    return *why;
  if (auto why = settle_signals(settings, world, out))
    return *why;
  if (auto why = settle_timers(settings, world, out))
    return *why;
  if (auto why = settle_secret(settings, world, out))
    return *why;
  if (auto why = check(out))
    return *why;
  return run_command{std::move(out)};
}

} // namespace

result<run_command> parse_run(const std::vector<std::string>& words,
                              const surroundings& world) {
  auto settings = run_settings{};
  const auto rules = run_rules(settings, world.cpu_count);
  auto scanned = scan(words, spellings_of(rules), rest_rule::remainder);
  if (!scanned)
    return scanned.error();
  if (asks_for(*scanned, "--help"))
    return run_command{help{run_help()}};
  if (asks_for(*scanned, "--version"))
    return run_command{version{}};
  if (auto why = read_options(rules, scanned->options, world.variable))
    return *why;
  return put_together(settings, *scanned, world);
}

} // namespace actorrun::cli
