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

command_guide drain_guide() {
  auto unused = control_settings{};
  return {
    "drain",
    "let a node leave a job gently",
    "Gives the workers of a node notice by SIGUSR1. The node leaves when they "
    "have ended, or at the"
    " deadline; the others go on without it at once. That costs no restart."
    " NODE is the node's host, its agent or its node rank, as actorctl status"
    " shows them. Refused if too few nodes would be left.",
    {"actorctl drain NODE [--deadline=TIME] [--wait-for-replacement] "
     "[OPTIONS]",
     "actorctl drain NODE --cancel [OPTIONS]"},
    for_show(drain_rules(unused)),
  };
}

command_guide resize_guide() {
  auto unused = control_settings{};
  return {
    "resize",
    "change the number of nodes of a job",
    "Gives a job another minimum and maximum of nodes. Nodes beyond the new"
    " maximum stand by: those with the highest ranks. Nodes that stand by get "
    "the"
    " new places. That costs no restart.",
    {"actorctl resize N|MIN:MAX [OPTIONS]"},
    for_show(steer_rules(unused)),
  };
}

command_guide restart_guide() {
  auto unused = control_settings{};
  return {
    "restart",
    "start the workers of a job again",
    "Stops the workers of a job on all its nodes and starts them again. That"
    " costs no restart.",
    {"actorctl restart [--reason=TEXT] [OPTIONS]"},
    for_show(reasoned_rules(unused)),
  };
}

command_guide stop_guide() {
  auto unused = control_settings{};
  return {
    "stop",
    "end a job",
    "Stops the workers of a job on all its nodes and ends it, as SIGTERM to the"
    " node that hosts its coordinator does: each node ends with 143.",
    {"actorctl stop [--reason=TEXT] [OPTIONS]"},
    for_show(reasoned_rules(unused)),
  };
}

command_guide exclude_guide() {
  auto unused = control_settings{};
  return {
    "exclude",
    "give the nodes of a host no place in a job",
    "Takes the nodes of a host out of a job; they stand by, also those that "
    "come"
    " later. The others go on without them at once, which costs no restart."
    " Refused if too few nodes would be left.",
    {"actorctl exclude HOST [--reason=TEXT] [OPTIONS]"},
    for_show(reasoned_rules(unused)),
  };
}

command_guide include_guide() {
  auto unused = control_settings{};
  return {
    "include",
    "let the nodes of an excluded host take part again",
    "Undoes actorctl exclude, and what --exclude-after has done.",
    {"actorctl include HOST [OPTIONS]"},
    for_show(steer_rules(unused)),
  };
}

command_guide log_level_guide() {
  auto unused = control_settings{};
  return {
    "loglevel",
    "change what the nodes of a job log",
    "Has one node, or all nodes and the coordinator, log lines of LEVEL and"
    " above: debug, info, warning, error or critical. At their start it is that"
    " of LOGLEVEL.",
    {"actorctl loglevel LEVEL [--node=NODE] [OPTIONS]"},
    for_show(log_level_rules(unused)),
  };
}

command_guide logs_guide() {
  auto unused = control_settings{};
  return {
    "logs",
    "print what workers have written to log files",
    "Prints the lines of the workers' log files, from all nodes, each behind "
    "its"
    " global rank. Without JOB: the only job of this host. An agent of this "
    "host"
    " knows the workers of its node only; with --rdzv-endpoint the coordinator "
    "is"
    " asked. Output that goes to the console alone is in no file: actorrun "
    "needs"
    " --tee or --redirects.",
    {"actorctl logs [-f] [--rank=RANK,...] [--node=NODE] [--tail=N] "
     "[--since=TIME]"
     " [--grep=RE] [--previous] [--stdout|--stderr] [JOB]",
     "actorctl logs [...] --rdzv-endpoint=HOST[:PORT] --rdzv-id=ID [OPTIONS]"},
    for_show(logs_rules(unused)),
  };
}

command_guide stacks_guide() {
  auto unused = control_settings{};
  return {
    "stacks",
    "print where workers are now, and who is the odd one out",
    "Prints where each worker is: its Python stack, where py-spy is installed "
    "on"
    " its node and may look at it, else what the kernel shows. If one is"
    " elsewhere than all others, it is named first.",
    {"actorctl stacks [--json] [--job=JOB] [RANK...]",
     "actorctl stacks [--json] --rdzv-endpoint=HOST[:PORT] --rdzv-id=ID "
     "[OPTIONS]"
     " [RANK...]"},
    for_show(stacks_rules(unused)),
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
  out.purpose
    = "inspect, explain and steer jobs of actorrun, host their coordinators";
  out.text = "Inspects, explains and steers jobs of actorrun, hosts their "
             "coordinators and makes their secret.";
  out.usage = {"actorctl COMMAND [OPTIONS]"};
  out.operand = "actorctl COMMAND --help describes the options of a command.";
  out.options = for_show(actorctl_rules(unused));
  out.commands
    = {status_guide(),  top_guide(),       why_guide(),         journal_guide(),
       replay_guide(),  logs_guide(),      stacks_guide(),      drain_guide(),
       resize_guide(),  restart_guide(),   stop_guide(),        exclude_guide(),
       include_guide(), log_level_guide(), coordinator_guide(), secret_guide()};
  out.examples = {
    {"actorctl status", "The jobs of this user on this host:"},
    {"actorctl status -o wide", "The same, with a row for each worker:"},
    {"actorctl status --json --rdzv-endpoint=node1 --rdzv-id=job1",
     "A job on other nodes, for a program:"},
    {"actorctl top", "The same as it changes:"},
    {"actorctl why", "Why a job waits, regrouped or failed:"},
    {"actorctl logs -f --rank=3",
     "What the worker of rank 3 writes, from now on:"},
    {"actorctl stacks", "Where all workers are:"},
    {"actorctl drain n2 --deadline=2m", "A node leaves within two minutes:"},
    {"actorctl secret create", "A secret for the jobs of this user:"},
    {"actorctl coordinator --rdzv-endpoint=node0 --rdzv-id=job1 --nnodes=2:4",
     "A coordinator that outlives the nodes of the workers, started on node0:"},
  };
  out.manual = manual();
  return out;
}

} // namespace actorrun::cli
