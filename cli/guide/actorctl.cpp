#include "cli/guide/common.hpp"
#include "cli/guide/guide.hpp"
#include "cli/options/actorctl_options.hpp"

namespace actorrun::cli {

namespace {

manual_sections actorctl_manual() {
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
  const auto program = control_program{};
  auto out = program_guide{describe(*program.app)};
  out.operand = "actorctl COMMAND --help describes the options of a command.";
  out.commands = describe_commands(*program.app);
  out.examples = {
    {"actorctl status", "The jobs of this user on this host:"},
    {"actorctl status -o wide", "The same, with a row for each worker:"},
    {"actorctl status --json --rdzv-endpoint=node1 --rdzv-id=job1",
     "A job on other nodes, for a program:"},
    {"actorctl top", "The same as it changes:"},
    {"actorctl why", "Why a job waits, regrouped or failed:"},
    {"actorctl time job1",
     "Where the time of a job went, and what failures cost:"},
    {"actorctl logs -f --rank=3",
     "What the worker of rank 3 writes, from now on:"},
    {"actorctl stacks", "Where all workers are:"},
    {"actorctl drain n2 --deadline=2m", "A node leaves within two minutes:"},
    {"actorctl secret create", "A secret for the jobs of this user:"},
    {"actorctl coordinator --rdzv-endpoint=node0 --rdzv-id=job1 --nnodes=2:4",
     "A coordinator that outlives the nodes of the workers, started on node0:"},
  };
  out.manual = actorctl_manual();
  return out;
}

} // namespace actorrun::cli
