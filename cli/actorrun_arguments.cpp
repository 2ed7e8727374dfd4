#include "cli/actorrun_arguments.hpp"

#include "actors/core/workers/worker_environment.hpp"
#include "cli/completion/completion.hpp"
#include "cli/guide/guide.hpp"
#include "cli/options/actorrun_options.hpp"
#include "cli/options/caller_options.hpp"
#include "cli/options/check_options.hpp"
#include "cli/options/host_options.hpp"
#include "cli/options/http_options.hpp"
#include "cli/options/log_options.hpp"
#include "cli/options/node_options.hpp"
#include "cli/options/signal_options.hpp"
#include "cli/options/slurm_step.hpp"
#include "cli/options/straggler_options.hpp"
#include "cli/options/timer_options.hpp"
#include "cli/options/torchrun_options.hpp"
#include "messages/formatted.hpp"
#include "runtime/journal.hpp"

#include <algorithm>
#include <utility>

namespace actorrun::cli {

namespace {

/// Under this name we do what the program of that name did: scripts from before
/// torchrun get their rank on their node as an argument.
constexpr auto old_launcher = std::string_view{"torch.distributed.launch"};

/// Containers have homes that are missing or not theirs: no job is told each time
/// what no user has asked for.
std::string journal_of(const std::optional<std::string>& typed,
                       const host_facts& world) {
  if (!typed) {
    auto own = own_journal_folder(world.variable);
    return world.may_write_in(own) ? own : "";
  }
  return *typed == "none" ? "" : *typed;
}

result<void> settle_secret(const run_settings& settings,
                           const host_facts& world, run_arguments& out) {
  if (auto ok = settle_trust(
        {settings.secret_file, settings.tls, settings.munge}, world, out.job);
      !ok)
    return ok;
  out.job.journal_folder = journal_of(settings.journal, world);
  if (!settings.requires_secret || !out.job.rendezvous
      || !out.job.secret.empty() || out.job.tls.is_set())
    return {};
  if (out.job.munge == munge_use::if_works)
    out.job.munge = munge_use::always;
  if (out.job.munge != munge_use::always)
    return bad_argument(
      "--require-secret: there is no secret; make one with: actorctl secret"
      " create, and copy ~/.config/actorrun/secret to the other nodes unless"
      " they share this home");
  return {};
}

/// The last option may have taken the script for its value.
std::string missing_program(const run_settings& settings,
                            const std::vector<given_option>& options) {
  const auto* form = settings.no_python   ? "--no-python PROGRAM"
                     : settings.is_module ? "-m MODULE"
                                          : "SCRIPT";
  auto text = formatted(
    "there is nothing to run: actorrun [OPTIONS] {} [ARGUMENTS…]", form);
  if (!options.empty() && !options.back().value.empty())
    text += formatted("; {} is taken for the value of {}",
                      in_quotes(options.back().value), options.back().source);
  return text;
}

result<void> settle_program(const run_settings& settings,
                            const scanned_words& typed, const host_facts& world,
                            run_arguments& out) {
  const auto& words = typed.rest;
  if (settings.run_path && (settings.no_python || settings.is_module))
    out.warnings.emplace_back(
      "--run-path: --module and --no-python are ignored beside it");
  else if (settings.no_python && settings.is_module)
    return bad_argument("--no-python and --module exclude each other");
  if (words.empty())
    return bad_argument(missing_program(settings, typed.options));
  if (words.front().empty())
    return bad_argument("the name of what to run is empty; maybe a variable of"
                        " the shell is not set");
  out.program.name = words.front();
  out.program.arguments.assign(words.begin() + 1, words.end());
  if (settings.passes_local_rank && !settings.uses_environment)
    out.program.arguments.insert(out.program.arguments.begin(),
                                 "--local-rank=${local_rank}");
  out.program.by_runpy = settings.run_path;
  out.program.is_module = settings.is_module && !settings.run_path;
  out.program.no_python = settings.no_python && !settings.run_path;
  out.program.interpreter = world.variable("PYTHON_EXEC").value_or("");
  return {};
}

/// Refuses an option that is typed and has no effect. Warns only if a variable has
/// set it, because an environment serves many jobs, or if it is torchrun's, whose
/// scripts must go on working.
result<void> settle_logs(const run_settings& settings,
                         const scanned_words& typed, run_arguments& out) {
  for (const auto& x : idle_log_options(settings)) {
    const auto is_typed = contains(typed.options, x.name);
    const auto text = x.name + ": " + x.why;
    if (is_typed && !is_torchrun_option(x.name))
      return bad_argument(text);
    if (is_typed || !x.is_harmless)
      out.warnings.push_back(text);
  }
  out.agent.logs = log_options_of(settings);
  return {};
}

/// Comes before all options about single workers, which need their number.
result<void> settle_slots(run_settings& settings, const host_facts& world,
                          run_arguments& out) {
  auto chosen
    = choose_slots(settings.devices.slots, settings.virtual_local_rank, world);
  if (!chosen)
    return chosen.error();
  settings.slot_count = chosen->count;
  out.agent.workers.slot_count = chosen->count;
  out.agent.visible_devices = std::move(chosen->visible);
  out.agent.binding = settings.devices.binding;
  out.reports_bindings = settings.devices.reports_bindings;
  out.warnings.insert(out.warnings.end(), chosen->warnings.begin(),
                      chosen->warnings.end());
  return {};
}

/// Checks that every worker has a device to see.
result<void> settle_virtual_ranks(const run_settings& settings,
                                  const host_facts& world, run_arguments& out) {
  out.agent.virtual_local_rank = settings.virtual_local_rank;
  if (!settings.virtual_local_rank)
    return {};
  auto devices = out.agent.visible_devices;
  const auto inherited = world.variable("CUDA_VISIBLE_DEVICES");
  if (devices.empty() && inherited)
    devices = core::device_names(*inherited);
  const auto last = core::device_of(devices, settings.slot_count - 1);
  if (last)
    return {};
  return bad_argument(formatted(
    "--virtual-local-rank: {} (CUDA_VISIBLE_DEVICES); --nproc-per-node is {}",
    last.error().text, settings.slot_count));
}

void copy_plain(const run_settings& settings, run_arguments& out) {
  out.job.timeouts = settings.conf.timeouts;
  out.job.timeouts.safe_point = settings.safe_point_timeout;
  out.job.place = settings.conf.place;
  out.job.succession = settings.conf.succession.value_or(false);
  out.job.etcd = settings.conf.etcd;
  out.job.restart_count_max = settings.restart_count_max;
  out.has_class_codes = settings.has_class_codes;
  out.job.exclude_file = settings.exclude_file;
  out.agent.local_address = settings.local_address;
  out.agent.workers.role = settings.role;
  out.agent.workers.spare_count = settings.spare_count;
  out.agent.workers.grace_period = settings.grace_period;
  out.agent.agent_store = !settings.workers_serve_store;
  out.logs_events = settings.logs_events;
}

/// torchrun takes any key, and scripts for it have some that we do not know.
void settle_conf(const rendezvous_conf& conf, run_arguments& out) {
  const auto remarks = remarks_on(conf, out.job.backend);
  out.warnings.insert(out.warnings.end(), remarks.begin(), remarks.end());
  if (out.job.backend == rendezvous_backend::fixed)
    out.job.place = coordinator_place::automatic;
}

result<void> check(const run_arguments& x) {
  if (auto ok = validate(x.job); !ok)
    return ok;
  auto agent = x.agent;
  agent.workers.command = {x.program.name};
  agent.workers.command.insert(agent.workers.command.end(),
                               x.program.arguments.begin(),
                               x.program.arguments.end());
  return validate(agent);
}

result<run_command> put_together(run_program& program,
                                 const command_line& typed,
                                 const host_facts& world) {
  auto& settings = program.settings;
  auto out = run_arguments{};
  if (auto ok = take_slurm_step(typed.options, world, settings, out.notices);
      !ok)
    return ok.error();
  copy_plain(settings, out);
  if (auto ok = settle_slots(settings, world, out); !ok)
    return ok.error();
  if (auto ok = settle_nodes(settings, world, out); !ok)
    return ok.error();
  settle_conf(settings.conf, out);
  if (auto ok = settle_job_id(settings, world, out); !ok)
    return ok.error();
  if (auto ok = settle_program(settings, typed, world, out); !ok)
    return ok.error();
  if (auto ok = settle_caller(settings, world, out); !ok)
    return ok.error();
  if (auto ok = settle_virtual_ranks(settings, world, out); !ok)
    return ok.error();
  if (auto ok = settle_logs(settings, typed, out); !ok)
    return ok.error();
  if (auto ok = settle_signals(settings, world, out); !ok)
    return ok.error();
  if (auto ok = settle_time_limit(typed.options, settings, world, out); !ok)
    return ok.error();
  if (auto rules = restart_rules_of(settings.failures); rules)
    out.job.rules = *rules;
  else
    return rules.error();
  if (auto ok = settle_checks(settings, world, out); !ok)
    return ok.error();
  if (auto ok = settle_stragglers(settings, out); !ok)
    return ok.error();
  if (auto ok = settle_timers(settings, world, out); !ok)
    return ok.error();
  settle_http(settings, world, out);
  if (auto ok = settle_secret(settings, world, out); !ok)
    return ok.error();
  warn_of_ignored_options(settings, typed.options, out.warnings);
  warn_of_ignored_variables(world, *program.app, out.warnings);
  if (auto ok = check(out); !ok)
    return ok.error();
  return run_command{std::move(out)};
}

/// The most workers that a host of the list may have; devices are those of the host.
uint32_t slot_count_max(const hosts_arguments& x, const slot_wish& of_others) {
  auto out = uint32_t{0};
  for (const auto& host : x.hosts)
    out = std::max(out, host.slots != 0 ? host.slots
                        : of_others.what == slot_wish::kind::number
                          ? of_others.count
                          : core::slots_per_agent_max);
  return out;
}

/// Agents read their part of the line themselves, so what is wrong with it for any
/// host is found here, before there are agents.
result<run_arguments> as_on_a_host(const hosts_arguments& x,
                                   const slot_wish& of_others,
                                   const host_facts& world) {
  auto words = x;
  std::erase(words.options, "--virtual-local-rank");
  words.hosts.front().slots = slot_count_max(x, of_others);
  const auto facts = facts_of_agent(world, x.secret);
  auto on_host = facts;
  on_host.variable
    = [&facts](const std::string& name) -> std::optional<std::string> {
    return name == "PET_VIRTUAL_LOCAL_RANK" ? std::nullopt
                                            : facts.variable(name);
  };
  const auto where = known_coordinator{0, endpoint{.host = "localhost"}};
  auto out = parse_run(agent_words(words, 0, where), on_host);
  if (!out)
    return out.error();
  if (auto* arguments = std::get_if<run_arguments>(&*out))
    return std::move(*arguments);
  return bad_argument("the script looks like an option"); // Cannot be.
}

result<run_command> put_together_hosts(const run_program& program,
                                       const command_line& typed,
                                       const host_facts& world) {
  const auto& settings = program.settings;
  auto out = settle_hosts(settings, typed, *program.app, world);
  if (!out)
    return out.error();
  if (typed.rest.empty())
    return bad_argument(missing_program(settings, typed.options));
  if (auto ok = settle_caller(settings, world, *out); !ok)
    return ok.error();
  const auto part = as_on_a_host(*out, settings.devices.slots, world);
  if (!part)
    return part.error();
  out->signals_to_handle = part->signals_to_handle;
  out->signals_to_forward = part->signals_to_forward;
  out->grace = part->agent.workers.grace_period;
  return run_command{*std::move(out)};
}

/// `60s` in `(default: 60s; 0: no time)`; none: there is none that can be told.
std::optional<std::string> default_in(const std::string& text) {
  constexpr auto mark = std::string_view{"(default: "};
  const auto begin = text.find(mark);
  if (begin == text.npos)
    return {};
  const auto end = text.find_first_of(";)", begin);
  return text.substr(begin + mark.size(), end - begin - mark.size());
}

/// Options whose default depends on others; what comes of them is said apart.
constexpr std::string_view told_otherwise[]
  = {"--hosts",       "--secret-file", "--rdzv-id",
     "--master-addr", "--master-port", "--node-rank"};

std::vector<option_origin> origins_of(const run_program& program,
                                      const command_line& typed,
                                      const host_facts& world) {
  const auto guide = actorrun_guide();
  auto given = std::vector<option_origin>{};
  auto usual = std::vector<option_origin>{};
  const auto ignores = program.settings.ignores_variables;
  for (const auto& x : guide.options) {
    if (x.name == "--dry-run")
      continue;
    const auto is_it = [&](const auto& y) { return y.name == x.name; };
    const auto last = std::ranges::find_if(typed.options.rbegin(),
                                           typed.options.rend(), is_it);
    if (last != typed.options.rend()) {
      given.push_back(
        {x.name, x.value.empty() ? "on" : last->value, "command line"});
      continue;
    }
    const auto variable = std::ranges::find_if(x.variables, [&](const auto& y) {
      return world.variable(y).has_value() && !ignores;
    });
    if (variable != x.variables.end())
      given.push_back({x.name, *world.variable(*variable), *variable});
    else if (const auto value = default_in(x.help);
             value && std::ranges::count(told_otherwise, x.name) == 0
             && std::ranges::count(guide.usual, x.name) > 0)
      usual.push_back({x.name, *value, "default"});
  }
  given.insert(given.end(), usual.begin(), usual.end());
  return given;
}

/// What a start would have been made of.
result<run_command> plan_of(const run_program& program,
                            const command_line& typed, const host_facts& world,
                            run_command what) {
  auto out = dry_run_arguments{};
  if (auto* hosts = std::get_if<hosts_arguments>(&what)) {
    auto part = as_on_a_host(*hosts, program.settings.devices.slots, world);
    if (!part)
      return part.error();
    out.run = *std::move(part);
    out.hosts = std::move(*hosts);
  } else {
    out.run = std::get<run_arguments>(std::move(what));
  }
  out.options = origins_of(program, typed, world);
  out.cpu_count = world.cpu_count();
  if (world.gpus)
    if (const auto gpus = world.gpus())
      out.gpu_count = gpus->size();
  out.inherited_devices = world.variable("CUDA_VISIBLE_DEVICES");
  out.has_thread_count = world.variable("OMP_NUM_THREADS").has_value();
  return run_command{std::move(out)};
}

bool asks_for_all(const command_line& typed) {
  return std::ranges::any_of(
    typed.options, [](const auto& x) { return x.source == help_on_all; });
}

} // namespace

result<run_command> parse_run(const std::vector<std::string>& words,
                              const host_facts& world,
                              std::string_view program) {
  auto line = run_program{world.cpu_count};
  auto& settings = line.settings;
  settings.passes_local_rank
    = program.substr(program.rfind('/') + 1) == old_launcher;
  const auto typed = read_words(*line.app, words, world.variable);
  if (!typed)
    return typed.error();
  if (settings.shown.help)
    return run_command{help{asks_for_all(*typed)
                              ? help_text(actorrun_guide())
                              : brief_help(actorrun_guide())}};
  if (settings.shown.version)
    return run_command{version{}};
  if (settings.shown.completion)
    return run_command{
      help{completion_script(*settings.shown.completion, actorrun_guide())}};
  for (const auto& x : typed->options)
    settings.typed.push_back(x.name);
  const auto facts
    = settings.ignores_variables ? without_option_variables(world) : world;
  auto out = names_hosts(settings) ? put_together_hosts(line, *typed, facts)
                                   : put_together(line, *typed, facts);
  if (!out || !settings.dry_run)
    return out;
  return plan_of(line, *typed, facts, *std::move(out));
}

std::string report_file_in(const std::vector<std::string>& words) {
  return value_if_any(*run_program{}.app, words, "--report-file");
}

} // namespace actorrun::cli
