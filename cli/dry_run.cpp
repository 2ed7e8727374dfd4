#include "cli/dry_run.hpp"

#include "actors/core/devices/binding.hpp"
#include "actors/core/failure_text.hpp"
#include "actors/core/text.hpp"
#include "actors/core/workers/worker_environment.hpp"
#include "cli/commands.hpp"
#include "cli/options/signal_values.hpp"
#include "cli/options/worker_command.hpp"
#include "cli/report/exit_code.hpp"
#include "cli/report/text_table.hpp"
#include "messages/formatted.hpp"

#include <algorithm>
#include <array>
#include <iostream>
#include <set>
#include <utility>

namespace actorrun::cli {

namespace {

using plan_rows = std::vector<text_row>;

/// For what only the coordinator knows.
constexpr auto not_yet = "(told at the start of a generation)";

std::string span_in_words(std::chrono::milliseconds x) {
  return x.count() == 0 ? "0" : core::duration_text(x);
}

const char* name_of(rendezvous_backend x) {
  switch (x) {
    case rendezvous_backend::native:
      return "c10d";
    case rendezvous_backend::fixed:
      return "static";
    case rendezvous_backend::etcd:
      break;
  }
  return "etcd";
}

std::string quoted_words(const std::vector<std::string>& words) {
  auto out = std::string{};
  for (const auto& word : words) {
    const auto is_plain
      = !word.empty()
        && word.find_first_of(" \t\n'\"\\$*?;&|<>()#~`!") == word.npos;
    out += (out.empty() ? "" : " ") + (is_plain ? word : "'" + word + "'");
  }
  return core::printable(out);
}

std::string nodes_in_words(const job_options& job) {
  return job.agent_count_min == job.agent_count_max
           ? std::to_string(job.agent_count_max)
           : formatted("{} to {}", job.agent_count_min, job.agent_count_max);
}

bool is_alone(const run_arguments& x) {
  return !x.job.rendezvous;
}

/// Which ranks are known before there is a coordinator.
bool knows_ranks(const run_arguments& x) {
  return is_alone(x)
         || (x.agent.node_rank
             && x.job.agent_count_min == x.job.agent_count_max);
}

std::string ranks_in_words(const run_arguments& x) {
  const auto count = x.agent.workers.slot_count;
  if (is_alone(x))
    return formatted("0-{} of {}", count - 1, count);
  if (x.agent.node_rank)
    return formatted("this is node rank {}; with {} workers on each node before"
                     " it, they begin at {}",
                     *x.agent.node_rank, count, *x.agent.node_rank * count);
  return "the coordinator gives them when the nodes are there";
}

std::string place_in_words(const run_arguments& x) {
  const auto& job = x.job;
  if (!job.rendezvous)
    return "nowhere: the job has this node alone, and opens no port but torch's"
           " store on 127.0.0.1";
  const auto where = to_string(*job.rendezvous);
  if (job.backend == rendezvous_backend::etcd)
    return formatted("at the node that etcd at {} elects", where);
  if (job.succession)
    return formatted("at {}; another node takes over if that is lost", where);
  if (job.place == coordinator_place::here)
    return formatted("at {}, which this node hosts (is_host)", where);
  if (job.place == coordinator_place::elsewhere)
    return formatted("at {}, which another process hosts (is_host=no)", where);
  if (x.agent.node_rank)
    return formatted("at {}, which node rank 0 hosts", where);
  return formatted("at {}, which the node hosts that has this address", where);
}

std::string devices_in_words(const run_arguments& x,
                             const dry_run_arguments& all) {
  const auto& devices = x.agent.visible_devices;
  auto out = std::string{};
  if (!devices.empty()) {
    for (const auto& device : devices)
      out += (out.empty() ? "CUDA_VISIBLE_DEVICES=" : ",") + device;
  } else {
    out = all.inherited_devices ? "CUDA_VISIBLE_DEVICES="
                                    + *all.inherited_devices + ", as inherited"
                                : "all, because nothing hides any";
  }
  if (all.gpu_count)
    out += *all.gpu_count == 0
             ? "; the driver shows none here"
             : formatted("; the driver shows {} here", *all.gpu_count);
  return core::printable(out)
         + (x.agent.virtual_local_rank ? "; each worker sees one" : "");
}

std::string streams_in_words(const core::log_options& x) {
  if (x.folder == "/dev/null")
    return "to the console only: --log-dir=/dev/null";
  const auto where = x.folder.empty()
                       ? std::string{"a new folder for temporary files"}
                       : "a new folder in " + core::printable(x.folder);
  const auto to_files = [](core::std_streams y) {
    return y == core::std_streams::none  ? "nothing"
           : y == core::std_streams::out ? "standard output"
           : y == core::std_streams::err ? "standard error"
                                         : "both outputs";
  };
  const auto rest = [](const core::stream_choice& y) {
    return y.by_rank.empty() ? "" : " (some local ranks otherwise)";
  };
  return formatted("to files: {}{}; to files and the console: {}{}; files are "
                   "in {}",
                   to_files(x.redirects.everywhere), rest(x.redirects),
                   to_files(x.tees.everywhere), rest(x.tees), where);
}

std::string binding_in_words(const run_arguments& x,
                             const std::vector<option_origin>& options) {
  const auto i
    = std::ranges::find(options, "--numa-binding", &option_origin::name);
  if (x.agent.binding == core::binding_mode::none || i == options.end())
    return "nothing: the system places them";
  return formatted("{} (--numa-binding); --report-bindings prints the CPUs at "
                   "the start",
                   core::printable(i->value));
}

plan_rows facts_of(const run_arguments& x, const dry_run_arguments& all,
                   const result<std::vector<std::string>>& command) {
  const auto& workers = x.agent.workers;
  auto rows = plan_rows{
    {"runs", command ? quoted_words(*command) : command.error().text},
    {"job id", core::printable(x.job.job.value)},
    {"nodes", nodes_in_words(x.job)},
    {"they meet",
     all.hosts ? "on the first of the hosts that answers" : place_in_words(x)}};
  if (!is_alone(x))
    rows.push_back({"back end", name_of(x.job.backend)});
  rows.push_back(
    {"workers here", std::to_string(workers.slot_count)
                       + (workers.spare_count > 0
                            ? formatted(", and {} spares", workers.spare_count)
                            : std::string{})});
  rows.push_back(
    {"ranks", all.hosts ? "in the order of the hosts" : ranks_in_words(x)});
  rows.push_back({"devices", devices_in_words(x, all)});
  rows.push_back({"bound to", binding_in_words(x, all.options)});
  rows.push_back({"restarts", std::to_string(x.job.restart_count_max)});
  rows.push_back({"output", streams_in_words(x.agent.logs)});
  rows.push_back({"journal", x.job.journal_folder.empty()
                               ? "none"
                               : core::printable(x.job.journal_folder)});
  if (!is_alone(x))
    rows.push_back(
      {"proof",
       x.job.tls.is_set()      ? "certificates"
       : !x.job.secret.empty() ? "a secret"
       : x.job.munge == munge_use::if_works || x.job.munge == munge_use::always
         ? "munge, if it works"
         : "none: whoever reaches the port can take part"});
  return rows;
}

/// Where a time-out comes from: an option, or a key of --rdzv-conf.
std::string source_of(const std::string& name,
                      const std::vector<option_origin>& options) {
  for (const auto& x : options) {
    if (x.name == name)
      return x.source;
    if (x.name == "--rdzv-conf"
        && ("," + x.value).find("," + name + "=") != std::string::npos)
      return x.name + ", " + x.source;
  }
  return "default";
}

plan_rows timeouts_of(const run_arguments& x,
                      const std::vector<option_origin>& options) {
  const auto t = core::fitted(x.job.timeouts, x.job.agent_count_max);
  auto rows = plan_rows{};
  const auto add = [&](const char* name, std::chrono::milliseconds value,
                       const std::string& source, const char* text) {
    rows.push_back({name, span_in_words(value), source, text});
  };
  const auto add_given
    = [&](const char* name, std::chrono::milliseconds value, const char* text) {
        add(name, value, source_of(name, options), text);
      };
  add_given("--shutdown-timeout", x.agent.workers.grace_period,
            "from the stop signal to SIGKILL");
  if (x.agent.timers.watchdog.count() > 0)
    add_given("--watchdog", x.agent.timers.watchdog,
              "a worker that was heard once and is silent for so long has "
              "failed");
  if (is_alone(x))
    return rows;
  add_given("join_timeout", t.join,
            "for the minimum of nodes; then the job gives up");
  add_given("last_call_timeout", t.last_call,
            "for more nodes beyond the minimum");
  add_given("quiet_period", t.quiet, "of this, after the last that has joined");
  add_given("read_timeout", t.seek, "for the first coordinator");
  add_given("heartbeat_timeout", t.connect, "for one attempt to connect");
  const auto keep_alive = source_of("keep_alive_interval", options);
  add("fence", t.fence(), keep_alive,
      "a node that reaches no coordinator for so long kills its workers");
  add("lease", t.lease(), keep_alive,
      "a node that is silent for so long is lost");
  add_given("--safe-point-timeout", t.safe_point,
            "for workers with safe points, before a change that can wait");
  return rows;
}

/// What changes with each generation, or only the coordinator knows.
bool is_told_later(std::string_view name, bool knows) {
  constexpr auto always = std::array<std::string_view, 6>{
    "TORCHELASTIC_ERROR_FILE", "MASTER_PORT",
    "ACTORRUN_FENCING_TOKEN",  "ACTORRUN_EPOCH",
    "TORCHELASTIC_TIMER_FILE", "ACTORRUN_CONTROL"};
  constexpr auto ranks = std::array<std::string_view, 8>{
    "RANK",        "GROUP_RANK",       "ROLE_RANK",
    "WORLD_SIZE",  "GROUP_WORLD_SIZE", "ROLE_WORLD_SIZE",
    "MASTER_ADDR", "ROLE_NAME"};
  return std::ranges::count(always, name) > 0
         || (!knows && name != "ROLE_NAME"
             && std::ranges::count(ranks, name) > 0);
}

plan_rows environment_of(const run_arguments& x, bool knows) {
  const auto count = x.agent.workers.slot_count;
  const auto nodes = x.job.agent_count_max;
  auto plan = core::generation_plan{};
  plan.generation = generation_of(0, 1);
  plan.node_count = nodes;
  plan.world_size = nodes * count;
  plan.own.slot_count = count;
  plan.own.node_rank = x.agent.node_rank.value_or(0);
  plan.own.first_global_rank = plan.own.node_rank * count;
  plan.own.first_role_rank = plan.own.first_global_rank;
  plan.own.role_world_size = plan.world_size;
  plan.master_address = is_alone(x) ? "127.0.0.1" : x.job.rendezvous->host;
  auto job
    = core::job_environment{x.job.job, x.agent.workers.role,
                            x.job.restart_count_max, x.agent.signals_to_handle};
  job.agent_store = x.agent.agent_store;
  job.virtual_local_rank = x.agent.virtual_local_rank;
  job.visible_devices = x.agent.visible_devices;
  auto rows = plan_rows{};
  for (const auto& word : core::worker_environment({}, job, plan, 0)) {
    const auto sign = word.find('=');
    const auto name = word.substr(0, sign);
    rows.push_back({name, is_told_later(name, knows)
                            ? not_yet
                            : core::printable(word.substr(sign + 1))});
  }
  return rows;
}

/// What may not be what was meant.
std::vector<std::string> oddities_of(const run_arguments& x,
                                     const dry_run_arguments& all) {
  auto out = x.warnings;
  const auto count = x.agent.workers.slot_count;
  if (all.cpu_count > 0 && count > all.cpu_count)
    out.push_back(formatted("{} workers share {} CPUs", count, all.cpu_count));
  if (all.gpu_count && *all.gpu_count > 0 && count > *all.gpu_count)
    out.push_back(formatted("{} workers share {} GPUs: a script that takes "
                            "cuda:$LOCAL_RANK fails",
                            count, *all.gpu_count));
  if (all.gpu_count && *all.gpu_count > count)
    out.push_back(
      formatted("{} of {} GPUs have no worker; --nproc-per-node=gpu "
                "starts one for each",
                *all.gpu_count - count, *all.gpu_count));
  if (count > 1 && !all.has_thread_count)
    out.emplace_back("OMP_NUM_THREADS is not set, so each worker gets 1, as "
                     "with torchrun");
  const auto& logs = x.agent.logs;
  if (logs.redirects == core::stream_choice{}
      && logs.tees == core::stream_choice{})
    out.emplace_back("no output goes to files, so actorctl logs has none: -t 3 "
                     "writes files and shows the console as well");
  if (!is_alone(x) && x.job.restart_count_max == 0)
    out.emplace_back("--max-restarts is 0: the first worker that fails ends the"
                     " job on all nodes");
  if (!is_alone(x) && x.job.secret.empty() && !x.job.tls.is_set()
      && x.job.munge != munge_use::always)
    out.emplace_back("nothing proves who the other nodes are: actorctl secret "
                     "create makes a secret");
  return out;
}

std::string section(const char* title, const plan_rows& rows) {
  return rows.empty() ? "" : formatted("\n{}\n{}", title, aligned(rows));
}

plan_rows sources_of(const std::vector<option_origin>& options) {
  auto rows = plan_rows{};
  for (const auto& x : options)
    rows.push_back({x.name, core::printable(x.value), x.source});
  return rows;
}

std::string hosts_text(const hosts_arguments& x) {
  auto rows = plan_rows{};
  for (core::host_index i = 0; i < x.hosts.size(); ++i) {
    const auto where = x.place == meeting_place::given
                         ? std::optional<known_coordinator>{}
                         : known_coordinator{x.coordinator.value_or(0), {}};
    const auto& host = x.hosts[i];
    rows.push_back(
      {host.name,
       host.slots == 0 ? "its own number of" : std::to_string(host.slots),
       "workers",
       where && where->host == i ? "hosts the coordinator, if it answers first"
                                 : ""});
  }
  return section("hosts, reached by ssh or --rsh", rows);
}

} // namespace

std::string plan_text(const dry_run_arguments& all,
                      const result<std::vector<std::string>>& command) {
  const auto& x = all.run;
  auto out = std::string{"dry run: nothing is started\n"};
  if (all.hosts)
    out += hosts_text(*all.hosts);
  out += section(all.hosts ? "the part of one host" : "the job",
                 facts_of(x, all, command));
  out += section("time-outs", timeouts_of(x, all.options));
  out += section("what the worker with local rank 0 gets beside its inherited"
                 " environment",
                 environment_of(x, knows_ranks(x) && !all.hosts));
  out += section("where values come from", sources_of(all.options));
  auto odd = oddities_of(x, all);
  if (!command)
    odd.insert(odd.begin(), command.error().text);
  if (all.hosts)
    odd.insert(odd.end(), all.hosts->warnings.begin(),
               all.hosts->warnings.end());
  out += "\nwhat is odd\n";
  for (const auto& line : odd)
    out += "  " + core::printable(line) + "\n";
  return odd.empty() ? out + "  nothing\n" : out;
}

int show_plan(const dry_run_arguments& arguments) {
  const auto command
    = worker_command(arguments.run.program, files_of_this_machine());
  std::cout << plan_text(arguments, command);
  // Another host may have what this one lacks.
  return command || arguments.hosts
           ? 0
           : static_cast<int>(exit_code_of(command.error().code));
}

} // namespace actorrun::cli
