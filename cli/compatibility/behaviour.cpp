#include "cli/compatibility/ledger.hpp"

namespace actorrun::cli {

namespace {

using enum verdict;

constexpr ledger_entry files[] = {
  {"`LOG_DIR/ID_XXXXXXXX/attempt_N/RANK/stdout.log`, `stderr.log`,"
   " `error.json`",
   same, "mode 0700; `N` is `TORCHELASTIC_RESTART_COUNT`"},
  {"`attempt_N/filtered_stdout.log`, `filtered_stderr.log`", same, ""},
  {"the files of a group that regrouped without a failure", better,
   "kept; the next group gets a folder of its own, `attempt_N.generation_E`."
   " torchrun deletes them"},
  {"folders without `--log-dir`", better, "removed if they are empty"},
  {"`--log-dir=/dev/null`", same,
   "no files; output goes to the console unchanged"},
  {"`error.json` of a worker", same,
   "in the format of `@record`, from Python and from C++"},
  {"an `error.json` that is truncated, of another format or too large", better,
   "reported; in torchrun it ends the agent"},
  {"the FIFO of timers", same,
   "torch's `FileTimerClient` works unchanged; mode 0600; malformed lines are"
   " skipped"},
  {"session and process group of workers", same, "each worker has its own"},
  {"standard input, working directory, umask, limits", same, "inherited"},
  {"other descriptors", same, "none"},
};

constexpr ledger_entry habits[] = {
  {"options with dashes or underscores, `--x=1`, `--x 1`, `-r3`", same, ""},
  {"abbreviated options", same,
   "as argparse does it: both spellings count, so `--nproc` is ambiguous and"
   " `--nproc-p` is not. actorrun's additional options never make a prefix"
   " ambiguous that torchrun accepts"},
  {"everything after the script, one `--`", same,
   "and it is never parsed: argparse refuses a script's own option if it is"
   " ambiguous"},
  {"an option that is given twice", same, "the last one counts"},
  {"`${local_rank}`, `$$` in the command", same, ""},
  {"parse errors", same, "exit code 2"},
  {"errors after parsing", different,
   "a sentence with a remedy and an exit code of 2 to 8, 126 or 127; in"
   " torchrun a traceback and 1"},
  {"exit code after success, after a failure", same, "0, 1"},
  {"exit code after a signal", different,
   "128+n, as in a shell; in torchrun 1 and a traceback"},
  {"a program that does not exist", different,
   "exit code 127, or 126 if it cannot be executed; in torchrun 1"},
  {"a script that is an ELF file", better,
   "is executed directly; in torchrun Python cannot read it"},
  {"one node without rendezvous options", different,
   "no TCP port for nodes; the workers' store is on loopback, at port 29500 if"
   " no other program has it, else at any free one. In torchrun before 2.14 the"
   " second job of a host fails; since then the port is any free one"},
  {"`--master-port` of one node, or the port of `static`, is in use", different,
   "a sentence and exit code 6 before anything starts; in torchrun a traceback"
   " and 1"},
  {"a script that knows the store by `--master-addr` and `--master-port`, or by"
   " the endpoint of `c10d`",
   different,
   "is let into the generation's store, if rank 0 is on the node of the"
   " coordinator: always with `static`. Else a warning names both addresses,"
   " and `init_process_group(init_method=\"tcp://…\")` of torch 2.14 wants to"
   " serve a store there, and fails; `env://` works."
   " In a job with a secret, certificates or munge, only from the job's nodes"},
  {"`static`: a worker fails", better,
   "all nodes restart; in torchrun only the worker's own node, and the job"
   " hangs"},
  {"a node dies or falls silent", better,
   "detected at once or within 1.3 s, and the others regroup; torchrun does"
   " not detect it until workers fail, and then needs 40 s"},
  {"a node joins a running job", better,
   "the group grows after `join_settle`; in torchrun, with default settings,"
   " all agents crash"},
  {"nodes beyond the maximum", better,
   "stand by; one that was not needed until the job has succeeded says so, with"
   " exit code 8. In torchrun it ends with a traceback and 1, or with 0. A"
   " maximum of one node is a job of this node alone, without standbys"},
  {"the last call", different,
   "ends when there were no arrivals for `quiet_period`, and there is none"
   " after a failure; in torchrun it always takes 30 s"},
  {"the node of the coordinator dies", better,
   "with `etcd` another node takes over and no worker is touched; otherwise a"
   " new coordinator at the endpoint takes over. In torchrun the job ends"},
  {"keep-alives", better,
   "every 0.06 s in jobs of up to 24 nodes, 0.5 s from 200 on, less often above"
   " 2,500; they may stay unanswered for 0.9 s, from 200 nodes on for 1 s,"
   " longer above 625; the clocks of hosts are not compared. In torchrun every"
   " 5 s, three may be missed, and they are"},
  {"a node is cut off", better,
   "its workers are killed before others take their place; in torchrun they"
   " run on"},
  {"the agent is killed", better,
   "its workers die, and with them all processes that they have started, where"
   " a cgroup can be made (v2, Linux 5.14, leave to make one); elsewhere those "
   "in"
   " the process groups of the workers. In torchrun they become orphans"},
  {"processes that a worker has started, when its generation ends", different,
   "they are killed, also if the worker succeeded: all of them where a cgroup"
   " can be made, elsewhere those in the worker's session. torchrun leaves"
   " them"},
  {"ranks of nodes that stay", different,
   "stay, as long as others take the places of those that are gone; otherwise"
   " they close the gap in their order. node2 sorts before node10; torchrun"
   " sorts all nodes again by FQDN, as text"},
  {"a node whose agent gets SIGTERM", better,
   "leaves, and the others regroup at no cost; in torchrun they do not notice"},
  {"failure on one node, no restart left", better,
   "all nodes end with the same result; in torchrun others hang for up to 300"
   " s"},
  {"nodes that have succeeded and wait for the others", better,
   "for as long as those take, and they take part if the group starts again;"
   " in torchrun at most 300 s, in a deadlock"},
  {"different roles and worker counts on nodes", same,
   "`ROLE_*` are counted within the role"},
  {"handled signals", same,
   "workers get the same signal; a second signal kills them at once"},
  {"`nohup`", better, "works; in torchrun SIGHUP ends the job all the same"},
  {"other signals, such as SIGUSR1", better,
   "no worker is left alive; `--signals-to-forward` passes them on"},
  {"siblings of a failed worker", different,
   "siblings that were stopped are not failures and not in the report, unless"
   " their error files say that they had failed before"},
  {"log lines of the launcher", different,
   "`[actorrun TIME LEVEL] …` on standard error; torchrun has glog's format"},
  {"the failure report", different,
   "torchrun's layout, with additional lines (`cause`, `stuck`, `message`,"
   " `output`); without a traceback of the launcher before it, and without the"
   " blank at the end of `exitcode`"},
  {"the root cause", better,
   "the first failure over all nodes, without comparing the clocks of hosts."
   " On one host the times of error files count, as in torchrun, which knows"
   " its own node and whole seconds only"},
  {"the launcher's own error file", same,
   "a copy of that of the first failure; none if no worker has written one"},
  {"a timer expires", better,
   "the worker is killed, the group restarts, and the report names the timer;"
   " in torchrun the agent dies as well"},
  {"teed lines", better,
   "whole, without delay, each with one prefix, and a progress bar stays one"
   " line; in torchrun torn, after 0.1 s, and `\\r` ends a line"},
  {"bytes that are not UTF-8, a last line without a line end", better,
   "bytes are passed on unchanged, and such a line is shown as a line;"
   " torchrun replaces the bytes, and the line runs into the next one"},
  {"a full disk", better,
   "bytes of logs are lost; in torchrun workers fail. Where others have filled"
   " the disk, from the start, workers fail here, too, and the report says "
   "why"},
  {"nodes that may join", better,
   "nodes that have the secret, or a certificate of the job's authority, or"
   " without both the job's id; nothing is unpickled"},
  {"the c10d store", better,
   "a new one for every generation, served by the agent of rank 0; torchrun "
   "has one"
   " for the whole job, even after its node is gone"},
  {"events", better, "see `--event-log-handler`"},
  {"metrics", refused,
   "torchrun has no option for them either. Use `--metrics-port`, or `actorctl"
   " status --json`"},
  {"`torch.distributed.elastic` as a Python library", refused,
   "embed `actorrun::launcher` in C++, or `actorrun::start_processes` for"
   " groups without a job"},
  {"entry points `torchrun.handlers`, `torchrun.logs_specs`", refused,
   "extension points are C++ interfaces: see architecture.md"},
  {"the worker's HTTP server (`TORCH_WORKER_SERVER_SOCKET`)", same,
   "belongs to the worker; torchrun does not set it either"},
};

} // namespace

ledger_entries file_entries() {
  return files;
}

ledger_entries behaviour_entries() {
  return habits;
}

} // namespace actorrun::cli
