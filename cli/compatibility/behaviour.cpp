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
   "a folder of their own, `attempt_N.epoch_E`; there they are deleted"},
  {"folders without `--log-dir`", better, "go when they are empty"},
  {"`--log-dir=/dev/null`", same, "no files, output as it is"},
  {"`error.json` of a worker", same,
   "as `@record` writes it, from Python and from C++"},
  {"an `error.json` that is torn, foreign or huge", better,
   "is reported; there it ends the agent"},
  {"the FIFO of timers", same,
   "torch's `FileTimerClient` works as it is; mode 0600; hostile lines harm"
   " nothing but themselves"},
  {"session and process group of workers", same, "their own each"},
  {"standard input, working directory, umask, limits", same, "inherited"},
  {"other descriptors", same, "none"},
  {"what a worker has started", better,
   "is ended with it, also when its leader has ended before"},
};

constexpr ledger_entry habits[] = {
  {"options with dashes or underscores, `--x=1`, `--x 1`, `-r3`", same, ""},
  {"options cut short", same,
   "as argparse: both spellings count, so `--nproc` is ambiguous and"
   " `--nproc-p` is not. Our additions never make ambiguous what torchrun"
   " accepts"},
  {"everything behind the script, one `--`", same,
   "and it is not even looked at: argparse refuses a script's own"
   " option if it is ambiguous"},
  {"an option that is given twice", same, "the last one counts"},
  {"`${local_rank}`, `$$` in the command", same, ""},
  {"parse errors", same, "exit code 2"},
  {"errors after parsing", different,
   "a sentence with a remedy and exit code 2 to 7, 126 or 127; there a"
   " traceback and 1"},
  {"exit code of a job that succeeded, that failed", same, "0, 1"},
  {"exit code after a signal", different,
   "128+n, as shells have it; there 1 and a traceback"},
  {"a program that is not there", different,
   "exit code 127, or 126 if it cannot be executed; there 1"},
  {"a script that is an ELF file", better,
   "runs by itself; there Python cannot read it"},
  {"one node without options on the rendezvous", better,
   "no TCP port for nodes; the workers' store is on loopback"},
  {"`static`: a worker fails", better,
   "all nodes restart; there only its own, and the job hangs"},
  {"a node dies or falls silent", better,
   "noticed at once or within 1.2 s, and the others regroup; there not at"
   " all until workers fail, and then after 40 s"},
  {"a node joins a running job", better,
   "the group grows after `join_settle`; there, with default settings, all"
   " agents crash"},
  {"more nodes than the maximum", same, "stand by"},
  {"the last call", different,
   "ends when arrivals are quiet (`quiet_period`), and after a failure there"
   " is none: faster. There always 30 s"},
  {"the node of the coordinator dies", better,
   "with `etcd` another node takes over and no worker is touched; else a new"
   " coordinator at the endpoint does. There the job ends"},
  {"keep-alives", better,
   "every 0.3 s, three may be missed, and clocks of hosts are not compared;"
   " there every 5 s, and they are"},
  {"a node is cut off", better,
   "its workers are killed before others take their place; there they run"
   " on"},
  {"the agent is killed", better,
   "its workers and all they have started die; there they are orphans"},
  {"ranks of nodes that stay", different,
   "keep their order, and node2 comes in before node10; there all are sorted"
   " anew by FQDN, as text"},
  {"a node that was told to end", better,
   "leaves: the others regroup at no cost; there they do not notice"},
  {"failure on one node, no restart left", better,
   "all nodes end alike; there others hang for up to 300 s"},
  {"nodes that have succeeded wait for the others", better,
   "for as long as those take, and they take part when the group starts"
   " again; there 300 s at most, in a deadlock"},
  {"different roles and worker counts on nodes", same,
   "`ROLE_*` count within the role"},
  {"handled signals", same,
   "workers get the same one; a second signal kills at once"},
  {"`nohup`", better,
   "does what it says; there SIGHUP ends the job all the same"},
  {"other signals, as SIGUSR1", better,
   "no worker is left alive; `--signals-to-forward` passes them on"},
  {"siblings of a failed worker", different,
   "that we have stopped are no failures and not in the report"},
  {"log lines of the launcher", different,
   "`[actorrun TIME LEVEL] …` on standard error; there glog's style"},
  {"the failure report", same,
   "torchrun's layout, with lines added; without a traceback of the launcher"
   " before it"},
  {"the root cause", better,
   "the first over all nodes, without comparing clocks of hosts; there of"
   " this node, to the second"},
  {"a timer expires", better,
   "the worker is killed, the group restarts, the report says which; there"
   " the agent dies with it"},
  {"teed lines", better,
   "whole, at once, each with one prefix, and a progress bar stays one line;"
   " there torn, after 0.1 s, and `\\r` ends a line"},
  {"bytes that are not UTF-8, a last line without an end", better,
   "pass as they are, and it is a line of its own; there replaced, and it runs"
   " into the next one"},
  {"a full disk", better, "costs bytes of logs; there it fails workers"},
  {"who may join", better,
   "who holds the secret, or knows the job's id; nothing is unpickled"},
  {"the c10d store", better,
   "served anew for every epoch by the agent of rank 0; there one stays for"
   " life, also when its node is gone"},
  {"events", better, "see `--event-log-handler`"},
  {"metrics", refused,
   "there is no option for them there either; `actorctl status --json`"},
  {"`torch.distributed.elastic` as a Python library", refused,
   "embed `actorrun::launcher`, or `actorrun::start_processes` for groups"
   " without a job, in C++"},
  {"entry points `torchrun.handlers`, `torchrun.logs_specs`", refused,
   "extension points are C++ interfaces: see architecture.md"},
  {"the worker's HTTP server (`TORCH_WORKER_SERVER_SOCKET`)", same,
   "is the worker's own; torchrun does not set it either"},
};

} // namespace

ledger_entries file_entries() {
  return files;
}

ledger_entries behaviour_entries() {
  return habits;
}

} // namespace actorrun::cli
