#include "cli/options/actorctl_arguments.hpp"

#include "cli/options/actorrun_options.hpp"
#include "cli/options/node_options.hpp"
#include "cli/options/spelling.hpp"
#include "cli/report/exit_code.hpp"

#include <algorithm>
#include <utility>

namespace actorrun::cli {

namespace {

/// What was set, by either command.
struct control_settings {
  bool json = false;
  std::optional<node_range> nodes;
  std::string rendezvous; ///< Empty: not given.
  std::optional<rendezvous_backend> backend;
  std::optional<std::string> job;
  std::optional<rendezvous_conf> conf;
  std::string secret_file;
  uint32_t restart_count_max = 0;
};

constexpr auto group = "Options";
constexpr auto version_name = "--version";

const auto ignore = value_reader{
  [](const std::string&) -> std::optional<failure> { return std::nullopt; }};

option_rules meeting_rules(control_settings& out) {
  return {
    {"--rdzv-endpoint", 0, "HOST[:PORT]", group,
     "where the nodes meet (default port 29400; with\n"
     "static 29500), or members of etcd with commas\n"
     "between (default port 2379)",
     endpoint_reader(out.rendezvous)},
    {"--rdzv-id", 0, "ID", group, "name of the job", verbatim(out.job)},
    secret_rule(group, out.secret_file),
    {"--help", 'h', "", group, "show this text", ignore},
  };
}

option_rules status_rules(control_settings& out) {
  auto rules = meeting_rules(out);
  const auto more = option_rules{
    {"--rdzv-backend", 0, "c10d|actor|static|etcd|etcd-v2", group,
     "as the job has it (default c10d): with etcd and\n"
     "etcd-v2, etcd knows where the coordinator is",
     backend_reader(out.backend)},
    {"--rdzv-conf", 0, "KEY=VALUE,...", group,
     "as the job has it; only what it says of etcd\ncounts here",
     into(out.conf, parse_rendezvous_conf)},
  };
  rules.insert(rules.end() - 1, more.begin(), more.end());
  rules.insert(rules.begin(), {"--json", 0, "", group, "one JSON document",
                               switch_on(out.json)});
  return rules;
}

option_rules coordinator_rules(control_settings& out) {
  auto rules = meeting_rules(out);
  const auto more = option_rules{
    {"--nnodes", 0, "N|MIN:MAX", group, "nodes of the job",
     into(out.nodes, parse_node_range)},
    {"--max-restarts", 0, "N", group,
     "worker failures the job survives (default 0)",
     restart_count_reader(out.restart_count_max)},
    {"--rdzv-backend", 0, "c10d|actor|etcd|etcd-v2", group,
     "c10d and actor (default): hosts it at the\n"
     "endpoint. etcd, etcd-v2: whenever etcd, which is\n"
     "at the endpoint (default port 2379), elects it",
     backend_reader(out.backend)},
    {"--rdzv-conf", 0, "KEY=VALUE,...", group, "as for actorrun",
     into(out.conf, parse_rendezvous_conf)},
  };
  rules.insert(rules.end() - 1, more.begin(), more.end());
  return rules;
}

option_rules general_rules() {
  return {
    {"--help", 'h', "", group, "show this text", ignore},
    {version_name, 0, "", group, "show the version", ignore},
  };
}

help help_of_all() {
  return {help_text(
    general_rules(),
    {"Looks at jobs of actorrun, and hosts their coordinators.\n",
     "Usage: actorctl COMMAND [OPTIONS]",
     "Exit codes:\n" + exit_code_table(),
     {{"status", "how jobs are doing"},
      {"coordinator", "hosts a job's coordinator without workers"}}})};
}

help help_of_status() {
  auto unused = control_settings{};
  return {help_text(
    status_rules(unused),
    {"Says how the jobs of this host are doing, or the one JOB, or the job "
     "that"
     "\nmeets at an endpoint.\n",
     "Usage: actorctl status [--json] [JOB]\n"
     "       actorctl status [--json] --rdzv-endpoint=HOST --rdzv-id=ID"
     " [OPTIONS]",
     "Exit codes: actorctl --help"})};
}

help help_of_coordinator() {
  auto unused = control_settings{};
  return {
    help_text(coordinator_rules(unused),
              {"Hosts the coordinator of one job until the job ends.\n",
               "Usage: actorctl coordinator --rdzv-endpoint=HOST --rdzv-id=ID"
               " --nnodes=MIN:MAX\n       [OPTIONS]",
               "Exit codes: actorctl --help"})};
}

bool asks_for(const std::vector<given_option>& options,
              const std::string& name) {
  return std::any_of(options.begin(), options.end(),
                     [&](const auto& x) { return x.name == name; });
}

/// The options of commands have no variables: an operator's shell may hold
/// those of another job.
std::optional<std::string> no_variable(const std::string&) {
  return std::nullopt;
}

failure surplus(const std::string& word) {
  return bad_argument("there is no place for the word " + in_quotes(word));
}

/// Where the job meets, whose name and secret it has.
result<job_options> job_from(const control_settings& settings,
                             const host_facts& world) {
  auto out = job_options{};
  out.job.value = settings.job.value_or("none");
  auto secret = secret_of(settings.secret_file, world);
  if (!secret)
    return secret.error();
  out.secret = std::move(*secret);
  const auto conf = settings.conf.value_or(rendezvous_conf{});
  const auto backend = settings.backend.value_or(rendezvous_backend::native);
  out.etcd = conf.etcd;
  if (auto why = settle_meeting(settings.rendezvous, backend, out))
    return *why;
  if (auto why = check_conf(conf, backend))
    return *why;
  return out;
}

result<control_command> status_from(const control_settings& settings,
                                    const std::vector<std::string>& rest,
                                    const host_facts& world) {
  auto out = status_arguments{settings.json, "", std::nullopt};
  if (rest.size() > 1)
    return surplus(rest[1]);
  if (!rest.empty())
    out.job = rest.front();
  const auto is_remote_option = settings.job || settings.backend
                                || settings.conf
                                || !settings.secret_file.empty();
  if (settings.rendezvous.empty() && is_remote_option)
    return bad_argument("--rdzv-id, --rdzv-backend, --rdzv-conf and"
                        " --secret-file need --rdzv-endpoint; for a job of"
                        " this host: actorctl status JOB");
  if (settings.rendezvous.empty())
    return control_command{out};
  if (!out.job.empty())
    return bad_argument("JOB is for jobs of this host; with --rdzv-endpoint,"
                        " give --rdzv-id");
  auto remote = job_from(settings, world);
  if (!remote)
    return remote.error();
  if (auto ok = validate(*remote); !ok)
    return ok.error();
  out.remote = std::move(*remote);
  return control_command{out};
}

result<control_command> coordinator_from(const control_settings& settings,
                                         const std::vector<std::string>& rest,
                                         const host_facts& world) {
  if (!rest.empty())
    return surplus(rest.front());
  if (settings.rendezvous.empty() || !settings.job || !settings.nodes)
    return bad_argument("a coordinator needs --rdzv-endpoint, --rdzv-id and"
                        " --nnodes");
  if (settings.backend == rendezvous_backend::fixed)
    return bad_argument("--rdzv-backend: with static the node of rank 0 hosts"
                        " the coordinator");
  const auto conf = settings.conf.value_or(rendezvous_conf{});
  if (conf.place == coordinator_place::elsewhere)
    return bad_argument("--rdzv-conf: is_host=0 makes no sense for the"
                        " coordinator itself");
  auto job = job_from(settings, world);
  if (!job)
    return job.error();
  auto out = coordinator_arguments{std::move(*job), conf.warnings};
  out.job.place = coordinator_place::here;
  out.job.agent_count_min = settings.nodes->min;
  out.job.agent_count_max = settings.nodes->max;
  out.job.restart_count_max = settings.restart_count_max;
  out.job.timeouts = conf.timeouts;
  if (auto ok = validate(out.job); !ok)
    return ok.error();
  return control_command{std::move(out)};
}

/// One command: its rules, its help, and what it makes of its settings.
struct control_rule {
  option_rules (*rules)(control_settings&);
  help (*show_help)();
  result<control_command> (*finish)(const control_settings&,
                                    const std::vector<std::string>&,
                                    const host_facts&);
};

result<control_command> parse_command(const control_rule& command,
                                      const std::vector<std::string>& words,
                                      const host_facts& world) {
  auto settings = control_settings{};
  const auto rules = command.rules(settings);
  const auto scanned = scan(words, spellings_of(rules), rest_rule::mixed);
  if (!scanned)
    return scanned.error();
  if (asks_for(scanned->options, "--help"))
    return control_command{command.show_help()};
  if (auto why = read_options(rules, scanned->options, no_variable))
    return *why;
  return command.finish(settings, scanned->rest, world);
}

} // namespace

result<control_command> parse_control(const std::vector<std::string>& words,
                                      const host_facts& world) {
  const auto scanned
    = scan(words, spellings_of(general_rules()), rest_rule::remainder);
  if (!scanned)
    return scanned.error();
  if (asks_for(scanned->options, "--help"))
    return control_command{help_of_all()};
  if (asks_for(scanned->options, version_name))
    return control_command{version{}};
  if (scanned->rest.empty())
    return bad_argument("there is no command; status and coordinator are known,"
                        " as in: actorctl status");
  const auto& name = scanned->rest.front();
  const auto rest
    = std::vector<std::string>(scanned->rest.begin() + 1, scanned->rest.end());
  if (name == "status")
    return parse_command({status_rules, help_of_status, status_from}, rest,
                         world);
  if (name == "coordinator")
    return parse_command(
      {coordinator_rules, help_of_coordinator, coordinator_from}, rest, world);
  const auto meant = guess(name, {"status", "coordinator"});
  return bad_argument(
    "unknown command " + in_quotes(name)
    + (meant.empty() ? "; status and coordinator are known" : meant));
}

} // namespace actorrun::cli
