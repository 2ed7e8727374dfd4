#include "cli/guide/common.hpp"
#include "cli/guide/guide.hpp"
#include "cli/options/actorctl_options.hpp"

namespace actorrun::cli {

namespace {

command_guide status_guide() {
  auto unused = control_settings{};
  return {
    "status",
    "print the status of jobs",
    "Prints the status of this user's jobs on this host, of one of them, or of"
    " the job that meets at an endpoint, and lists the jobs of this host that"
    " ended in the last day. The exit code is 0 if all that run are healthy, 1 "
    "if"
    " one waits or is degraded, 3 if there is none.",
    {"actorctl status [--json | -o wide] [JOB]",
     "actorctl status [--json | -o wide] --rdzv-endpoint=HOST[:PORT] "
     "--rdzv-id=ID"
     " [OPTIONS]"},
    for_show(status_rules(unused)),
  };
}

command_guide top_guide() {
  auto unused = control_settings{};
  return {
    "top",
    "watch jobs, their nodes and workers",
    "Shows jobs, their nodes and workers on the terminal, and each change at"
    " once: of this user's jobs on this host, of one of them, or of the job "
    "that"
    " meets at an endpoint. The key ? lists the keys. A job whose coordinator "
    "is"
    " gone is looked for again.",
    {"actorctl top [--once] [JOB]",
     "actorctl top [--once] --rdzv-endpoint=HOST[:PORT] --rdzv-id=ID "
     "[OPTIONS]"},
    for_show(top_rules(unused)),
  };
}

command_guide why_guide() {
  auto unused = control_settings{};
  return {
    "why",
    "explain why a job waits, regrouped or failed",
    "Says in one sentence why a job waits, why its last epoch ended or how it"
    " ended, and what that rests on. Reads the journal of the job, also after "
    "its"
    " end, on the host of its coordinator. Without JOB: the job that was last"
    " heard of. With --rdzv-endpoint its coordinator is asked, from any host.",
    {"actorctl why [--all] [--json] [--journal=FOLDER] [JOB|FILE]",
     "actorctl why [--all] [--json] --rdzv-endpoint=HOST[:PORT] --rdzv-id=ID"
     " [OPTIONS]"},
    for_show(why_rules(unused)),
  };
}

command_guide journal_guide() {
  auto unused = control_settings{};
  return {
    "journal",
    "print what has happened in a job",
    "Prints each event and decision of a job with its time and reason, one per"
    " line, also after its end, on the host of its coordinator. Without JOB: "
    "the"
    " job that was last heard of.",
    {"actorctl journal [-f] [--json] [--journal=FOLDER] [JOB|FILE]"},
    for_show(journal_rules(unused)),
  };
}

command_guide replay_guide() {
  auto unused = control_settings{};
  return {
    "replay",
    "show a job as it was at a moment",
    "Shows the status of a job as it was at a moment, from its journal.",
    {"actorctl replay [--at=TIME] [--journal=FOLDER] [JOB|FILE]"},
    for_show(replay_rules(unused)),
  };
}

command_guide coordinator_guide() {
  auto unused = control_settings{};
  return {
    "coordinator",
    "host the coordinator of a job, without workers",
    "Hosts the coordinator of one job, without workers, until the job ends.",
    {"actorctl coordinator --rdzv-endpoint=HOST[:PORT] --rdzv-id=ID"
     " --nnodes=N|MIN:MAX [OPTIONS]"},
    for_show(coordinator_rules(unused)),
  };
}

command_guide secret_guide() {
  auto unused = control_settings{};
  return {
    "secret",
    "make the secret of this user's jobs",
    "Makes a random secret in ~/.config/actorrun/secret (or in actorrun/secret"
    " below $XDG_CONFIG_HOME), readable by this user only. actorrun and "
    "actorctl"
    " use it if there is no other. Nodes that share this home have it, too; to"
    " others, copy it.",
    {"actorctl secret create [--force]"},
    for_show(secret_rules(unused)),
  };
}

manual_sections manual() {
  auto out = manual_sections{};
  append_common_environment(out.environment);
  out.environment.push_back(
    {"NO_COLOR", "if it is not empty, actorctl top shows no colours."});
  out.environment.push_back(
    {"PET_*", "Not read: a shell may hold these variables for another job."});
  out.signals = {
    {"SIGTERM, SIGINT, SIGHUP, SIGQUIT",
     "End actorctl coordinator, but not the job: the agents keep their workers"
     " and wait for another coordinator; with etcd, one of them hosts it."},
  };
  out.files = {own_secret(), run_time_folder()};
  out.see_also = {"actorrun(1)"};
  return out;
}

} // namespace

program_guide actorctl_guide() {
  auto unused = control_settings{};
  auto out = program_guide{};
  out.name = "actorctl";
  out.purpose = "inspect and explain jobs of actorrun, host their coordinators";
  out.text = "Inspects and explains jobs of actorrun, hosts their coordinators "
             "and makes their secret.";
  out.usage = {"actorctl COMMAND [OPTIONS]"};
  out.operand = "actorctl COMMAND --help describes the options of a command.";
  out.options = for_show(actorctl_rules(unused));
  out.commands
    = {status_guide(), top_guide(),         why_guide(),   journal_guide(),
       replay_guide(), coordinator_guide(), secret_guide()};
  out.examples = {
    {"actorctl status", "The jobs of this user on this host:"},
    {"actorctl status -o wide", "The same, with a row for each worker:"},
    {"actorctl status --json --rdzv-endpoint=node1 --rdzv-id=job1",
     "A job on other nodes, for a program:"},
    {"actorctl top", "The same as it changes:"},
    {"actorctl why", "Why a job waits, regrouped or failed:"},
    {"actorctl secret create", "A secret for the jobs of this user:"},
    {"actorctl coordinator --rdzv-endpoint=node0 --rdzv-id=job1 --nnodes=2:4",
     "A coordinator that outlives the nodes of the workers, started on node0:"},
  };
  out.manual = manual();
  return out;
}

} // namespace actorrun::cli
