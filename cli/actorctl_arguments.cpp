#include "cli/actorctl_arguments.hpp"

#include "cli/completion/completion.hpp"
#include "cli/guide/guide.hpp"
#include "cli/options/actorctl_options.hpp"
#include "cli/options/node_options.hpp"
#include "cli/options/secret_file.hpp"
#include "messages/formatted.hpp"
#include "runtime/job_logs.hpp"
#include "runtime/journal.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace actorrun::cli {

namespace {

/// The words of a command, in this order.
struct operands {
  std::string subject; ///< `n2` of `drain n2`; empty: there is none.
  std::string job;     ///< Of this host; empty: none is named.
  std::vector<std::string> more{}; ///< What follows, if it may.
};

/// Which words a command takes. The job may be left out, and may be named by `--job`.
struct word_rule {
  bool subject = false;
  bool job = true;
  bool more = false;
};

result<operands> operands_of(const control_settings& settings,
                             const std::vector<std::string>& words,
                             word_rule takes) {
  auto out = operands{"", settings.local_job};
  auto next = words.begin();
  if (takes.subject && next != words.end())
    out.subject = *next++;
  if (takes.job && out.job.empty() && next != words.end())
    out.job = *next++;
  if (takes.more)
    out.more.assign(std::exchange(next, words.end()), words.end());
  if (next != words.end())
    return bad_argument("there is no place for the word " + in_quotes(*next));
  return out;
}

/// Fills in where the job meets, its id and its secret.
result<job_options> job_from(const control_settings& settings,
                             const host_facts& world) {
  auto out = job_options{};
  out.job.value = settings.job.value_or("none");
  if (auto ok = settle_trust(
        {settings.secret_file, settings.tls, settings.munge}, world, out);
      !ok)
    return ok.error();
  const auto conf = settings.conf.value_or(rendezvous_conf{});
  const auto backend = settings.backend.value_or(rendezvous_backend::native);
  out.etcd = conf.etcd;
  if (auto ok = settle_meeting(settings.rendezvous, backend, out); !ok)
    return ok.error();
  if (auto ok = check_conf(conf, backend); !ok)
    return ok.error();
  return out;
}

/// @param local The job of this host that was named; may be empty.
result<asked_job> asked_from(const control_settings& settings,
                             const std::string& local,
                             const host_facts& world) {
  const auto is_remote_option
    = settings.job || settings.backend || settings.conf
      || !settings.secret_file.empty() || settings.tls != tls_options{}
      || settings.munge;
  if (settings.rendezvous.empty() && is_remote_option)
    return bad_argument("--rdzv-id, --rdzv-backend, --rdzv-conf, --secret-file,"
                        " --tls-… and --munge need --rdzv-endpoint; a job of"
                        " this host is named by the word JOB, or by --job=JOB");
  if (settings.rendezvous.empty())
    return asked_job{local, std::nullopt};
  if (!local.empty())
    return bad_argument("JOB is for jobs of this host; with --rdzv-endpoint,"
                        " give --rdzv-id");
  auto remote = job_from(settings, world);
  if (!remote)
    return remote.error();
  // Whether it needs that from those it asks is the job's to say.
  if (remote->munge == munge_use::if_works)
    remote->munge = munge_use::on_demand;
  if (auto ok = validate(*remote); !ok)
    return ok.error();
  return asked_job{"", std::move(*remote)};
}

result<status_arguments> status_from(const control_settings& settings,
                                     const operands& words,
                                     const host_facts& world) {
  auto job = asked_from(settings, words.job, world);
  if (!job)
    return job.error();
  return status_arguments{.json = settings.json,
                          .wide = settings.wide,
                          .job = std::move(job->local),
                          .journal_folder = settings.journal.value_or(
                            own_journal_folder(world.variable)),
                          .remote = std::move(job->remote)};
}

result<top_arguments> top_from(const control_settings& settings,
                               const operands& words, const host_facts& world) {
  auto job = asked_from(settings, words.job, world);
  if (!job)
    return job.error();
  return top_arguments{.job = std::move(job->local),
                       .journal_folder = settings.journal.value_or(
                         own_journal_folder(world.variable)),
                       .once = settings.once,
                       .remote = std::move(job->remote)};
}

result<logs_arguments> logs_from(const control_settings& settings,
                                 const operands& words,
                                 const host_facts& world) {
  if (settings.previous && settings.follow)
    return bad_argument("--previous is over: --follow makes no sense with it");
  if (auto ok = check_log_pattern(settings.grep); !ok)
    return bad_argument("--grep: " + ok.error().text);
  auto job = asked_from(settings, words.job, world);
  if (!job)
    return job.error();
  auto out = logs_arguments{.job = std::move(*job),
                            .what = {},
                            .since = settings.since,
                            .node = settings.node,
                            .journal_folder = settings.journal.value_or(
                              own_journal_folder(world.variable))};
  out.what.ranks = settings.ranks;
  out.what.previous = settings.previous;
  out.what.follow = settings.follow;
  out.what.tail = settings.tail;
  out.what.grep = settings.grep;
  if (settings.only_out != settings.only_err)
    out.what.outputs
      = settings.only_out ? core::std_streams::out : core::std_streams::err;
  return out;
}

// -- steering -----------------------------------------------------------------

using steer_request = result<v1::OperatorRequest>;

/// @param read Makes the request of a command.
template <auto read>
result<steer_arguments> steer_from(const control_settings& settings,
                                   const operands& words,
                                   const host_facts& world) {
  auto request = read(settings, words);
  if (!request)
    return request.error();
  auto job = asked_from(settings, words.job, world);
  if (!job)
    return job.error();
  return steer_arguments{*std::move(request), std::move(*job), settings.yes};
}

/// What a command is about.
/// @param what For people, as in `the node is missing`.
result<std::string> subject_in(const operands& words, const char* what) {
  if (words.subject.empty())
    return bad_argument(std::string{what} + " is missing");
  return words.subject;
}

result<std::string> host_in(const operands& words) {
  auto host = subject_in(words, "the host");
  if (host && !is_host(*host))
    return bad_argument(in_quotes(*host) + " is no name of a host");
  return host;
}

steer_request drain_request(const control_settings& settings,
                            const operands& words) {
  const auto word = subject_in(words, "the node");
  if (!word)
    return word.error();
  const auto node = parse_text(*word);
  if (!node)
    return node.error();
  auto request = v1::OperatorRequest{};
  if (settings.cancels) {
    if (settings.deadline || settings.waits_for_replacement)
      return bad_argument("--cancel lets the node stay, so --deadline and"
                          " --wait-for-replacement make no sense with it");
    request.mutable_cancel_drain()->set_node(*node);
    return request;
  }
  auto& drain = *request.mutable_drain();
  drain.set_node(*node);
  if (settings.deadline) // 0 stands for the default.
    drain.set_deadline_ms(
      static_cast<uint64_t>(std::max<int64_t>(settings.deadline->count(), 1)));
  drain.set_wait_for_replacement(settings.waits_for_replacement);
  return request;
}

steer_request lead_request(const control_settings&, const operands& words) {
  const auto word = subject_in(words, "the node");
  if (!word)
    return word.error();
  const auto node = parse_text(*word);
  if (!node)
    return node.error();
  auto request = v1::OperatorRequest{};
  request.mutable_lead()->set_node(*node);
  return request;
}

steer_request elect_request(const control_settings& settings, const operands&) {
  if (settings.lost_hosts.empty())
    return bad_argument("--accept-loss is missing: it names the hosts of all"
                        " voters that are lost");
  auto request = v1::OperatorRequest{};
  for (const auto& host : settings.lost_hosts)
    request.mutable_elect()->add_accept_loss(host);
  return request;
}

steer_request resize_request(const control_settings&, const operands& words) {
  const auto word = subject_in(words, "the number of nodes");
  if (!word)
    return word.error();
  const auto range = parse_node_range(*word);
  if (!range)
    return range.error();
  auto request = v1::OperatorRequest{};
  request.mutable_resize()->set_agent_count_min(range->min);
  request.mutable_resize()->set_agent_count_max(range->max);
  return request;
}

steer_request restart_request(const control_settings& settings,
                              const operands&) {
  auto request = v1::OperatorRequest{};
  request.mutable_restart()->set_reason(settings.reason);
  return request;
}

steer_request stop_request(const control_settings& settings, const operands&) {
  auto request = v1::OperatorRequest{};
  request.mutable_stop()->set_reason(settings.reason);
  return request;
}

steer_request exclude_request(const control_settings& settings,
                              const operands& words) {
  const auto host = host_in(words);
  if (!host)
    return host.error();
  auto request = v1::OperatorRequest{};
  request.mutable_exclude()->set_host(*host);
  request.mutable_exclude()->set_reason(settings.reason);
  return request;
}

steer_request include_request(const control_settings&, const operands& words) {
  const auto host = host_in(words);
  if (!host)
    return host.error();
  auto request = v1::OperatorRequest{};
  request.mutable_include()->set_host(*host);
  return request;
}

steer_request log_level_request(const control_settings& settings,
                                const operands& words) {
  const auto word = subject_in(words, "the level");
  if (!word)
    return word.error();
  const auto level = parse_log_level(*word);
  if (!level)
    return level.error();
  auto request = v1::OperatorRequest{};
  request.mutable_log_level()->set_level(*level);
  request.mutable_log_level()->set_node(settings.node);
  return request;
}

// -- hosting ------------------------------------------------------------------

result<stacks_arguments> stacks_from(const control_settings& settings,
                                     const operands& words,
                                     const host_facts& world) {
  auto job = asked_from(settings, words.job, world);
  if (!job)
    return job.error();
  return stacks_arguments{std::move(*job), settings.ranks, settings.json};
}

result<nodes_arguments> nodes_from(const control_settings& settings,
                                   const operands& words,
                                   const host_facts& world) {
  auto job = asked_from(settings, words.job, world);
  if (!job)
    return job.error();
  return nodes_arguments{std::move(*job), settings.json};
}

result<check_arguments> check_from(const control_settings&,
                                   const operands& words, const host_facts&) {
  const auto which = core::find_built_in(words.subject);
  if (!which)
    return bad_argument(
      (words.subject.empty()
         ? "there is no check"
         : in_quotes(words.subject) + " is no built-in check")
      + "; clock, disk, gpu-quick and gpu are, as in: actorctl"
        " check disk /scratch");
  if (*which != core::built_in_check::disk && !words.more.empty())
    return bad_argument(
      formatted("only the check disk takes folders, such as {}",
                in_quotes(words.more.front())));
  return check_arguments{*which, words.more};
}

result<coordinator_arguments> coordinator_from(const control_settings& settings,
                                               const operands&,
                                               const host_facts& world) {
  if (settings.rendezvous.empty() || !settings.job || !settings.nodes)
    return bad_argument("a coordinator needs --rdzv-endpoint, --rdzv-id and"
                        " --nnodes");
  if (settings.backend == rendezvous_backend::fixed)
    return bad_argument("--rdzv-backend: with static the node of rank 0 hosts"
                        " the coordinator");
  const auto conf = settings.conf.value_or(rendezvous_conf{});
  const auto is_witness = conf.succession.value_or(false);
  if (conf.place == coordinator_place::elsewhere && !is_witness)
    return bad_argument("--rdzv-conf: is_host=0 makes no sense for the"
                        " coordinator itself");
  if (!settings.local_address.empty() && !is_witness)
    return bad_argument("--local-addr is for a witness, which has"
                        " --rdzv-conf=succession=on: others find a coordinator"
                        " at the endpoint");
  auto job = job_from(settings, world);
  if (!job)
    return job.error();
  const auto backend = job->backend;
  auto out = coordinator_arguments{std::move(*job), settings.local_address,
                                   remarks_on(conf, backend)};
  if (!out.job.more_seeds.empty() && !is_witness)
    return bad_argument(
      "--rdzv-endpoint: a coordinator without an agent is at one endpoint; with"
      " several the agents themselves begin the job, and need none, but a"
      " witness (--rdzv-conf=succession=on) may help them");
  out.job.succession = is_witness;
  out.job.place = is_witness ? conf.place : coordinator_place::here;
  out.job.agent_count_min = settings.nodes->min;
  out.job.agent_count_max = settings.nodes->max;
  out.job.restart_count_max = settings.restart_count_max;
  auto rules = restart_rules_of(settings.failures);
  if (!rules)
    return rules.error();
  out.job.rules = *rules;
  out.job.exclude_file = settings.exclude_file;
  out.job.journal_folder = settings.journal == "none" ? ""
                           : settings.journal
                             ? *settings.journal
                             : own_journal_folder(world.variable);
  out.job.timeouts = conf.timeouts;
  out.job.timeouts.safe_point = settings.safe_point_timeout;
  out.http = settings.http;
  if (auto ok = validate(out.job); !ok)
    return ok.error();
  return out;
}

result<secret_arguments> secret_from(const control_settings& settings,
                                     const operands& words,
                                     const host_facts& world) {
  if (words.subject != "create")
    return bad_argument((words.subject.empty()
                           ? "there is no action"
                           : "unknown action " + in_quotes(words.subject))
                        + "; create is known, as in: actorctl secret create");
  auto path = own_secret_path(world.variable);
  if (path.empty())
    return bad_argument("there is no place for the secret: neither HOME nor"
                        " XDG_CONFIG_HOME is an absolute path");
  return secret_arguments{std::move(path), settings.force};
}

result<journal_subject> subject_of(const control_settings& settings,
                                   const operands& words,
                                   const host_facts& world) {
  auto job = asked_from(settings, words.job, world);
  if (!job)
    return job.error();
  auto out = journal_subject{
    settings.journal.value_or(own_journal_folder(world.variable)),
    std::move(job->local), std::move(job->remote)};
  if (!out.remote && out.folder.empty()
      && out.name.find('/') == std::string::npos)
    return bad_argument("there is no place for journals: neither HOME nor"
                        " XDG_STATE_HOME is an absolute path; give --journal,"
                        " or the path of a journal");
  return out;
}

result<journal_arguments> journal_from(const control_settings& settings,
                                       const operands& words,
                                       const host_facts& world) {
  if (settings.follow && settings.until)
    return bad_argument("--follow goes on until the job ends: --until makes no"
                        " sense with it");
  auto what = subject_of(settings, words, world);
  if (!what)
    return what.error();
  return journal_arguments{.what = std::move(*what),
                           .json = settings.json,
                           .follow = settings.follow,
                           .since = settings.from,
                           .until = settings.until,
                           .node = settings.node};
}

result<why_arguments> why_from(const control_settings& settings,
                               const operands& words, const host_facts& world) {
  auto what = subject_of(settings, words, world);
  if (!what)
    return what.error();
  return why_arguments{std::move(*what), settings.json, settings.all};
}

result<replay_arguments> replay_from(const control_settings& settings,
                                     const operands& words,
                                     const host_facts& world) {
  auto what = subject_of(settings, words, world);
  if (!what)
    return what.error();
  return replay_arguments{std::move(*what), settings.at};
}

result<bundle_arguments> bundle_from(const control_settings& settings,
                                     const operands& words,
                                     const host_facts& world) {
  return bundle_arguments{.job = words.job,
                          .output = settings.output,
                          .journal_folder = settings.journal.value_or(
                            own_journal_folder(world.variable)),
                          .tail = settings.tail};
}

result<time_arguments> time_from(const control_settings& settings,
                                 const operands& words,
                                 const host_facts& world) {
  auto what = subject_of(settings, words, world);
  if (!what)
    return what.error();
  return time_arguments{std::move(*what), settings.json, settings.node_price};
}

/// Reads a command by one of the functions above.
template <auto read>
result<control_command> command_from(const control_settings& settings,
                                     const operands& words,
                                     const host_facts& world) {
  auto out = read(settings, words, world);
  if (!out)
    return out.error();
  return control_command{std::move(*out)};
}

/// What the options and words of a command come to.
struct control_rule {
  result<control_command> (*finish)(const control_settings&, const operands&,
                                    const host_facts&);
  word_rule takes{};
};

constexpr auto about_something = word_rule{.subject = true};

constexpr std::pair<std::string_view, control_rule> commands[] = {
  {"status", {command_from<status_from>}},
  {"top", {command_from<top_from>}},
  {"why", {command_from<why_from>}},
  {"journal", {command_from<journal_from>}},
  {"replay", {command_from<replay_from>}},
  {"time", {command_from<time_from>}},
  {"bundle", {command_from<bundle_from>}},
  {"nodes", {command_from<nodes_from>}},
  {"check",
   {command_from<check_from>, {.subject = true, .job = false, .more = true}}},
  {"logs", {command_from<logs_from>}},
  {"stacks", {command_from<stacks_from>}},
  {"drain", {command_from<steer_from<drain_request>>, about_something}},
  {"resize", {command_from<steer_from<resize_request>>, about_something}},
  {"restart", {command_from<steer_from<restart_request>>}},
  {"stop", {command_from<steer_from<stop_request>>}},
  {"exclude", {command_from<steer_from<exclude_request>>, about_something}},
  {"include", {command_from<steer_from<include_request>>, about_something}},
  {"lead", {command_from<steer_from<lead_request>>, about_something}},
  {"elect", {command_from<steer_from<elect_request>>}},
  {"loglevel", {command_from<steer_from<log_level_request>>, about_something}},
  {"coordinator", {command_from<coordinator_from>, {.job = false}}},
  {"secret", {command_from<secret_from>, {.subject = true, .job = false}}}};

control_command help_of(const std::string& command) {
  const auto program = actorctl_guide();
  for (const auto& x : program.commands)
    if (x.name == command)
      return help{help_text(program, x)};
  return help{help_text(program)};
}

} // namespace

result<control_command> parse_control(const std::vector<std::string>& words,
                                      const host_facts& world) {
  auto program = control_program{};
  const auto& settings = program.settings;
  auto typed = read_words(*program.app, words);
  if (!typed)
    return typed.error();
  if (settings.shown.help)
    return help_of(typed->command);
  if (settings.shown.version)
    return control_command{version{}};
  if (settings.shown.completion)
    return control_command{
      help{completion_script(*settings.shown.completion, actorctl_guide())}};
  const auto command = value_of(typed->command, commands);
  if (!command)
    return bad_argument(
      formatted("there is no command; {} are known, as in: actorctl status",
                listed_commands(*program.app)));
  const auto named = operands_of(settings, typed->rest, command->takes);
  if (!named)
    return named.error();
  return command->finish(settings, *named, world);
}

} // namespace actorrun::cli
