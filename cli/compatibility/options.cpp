#include "cli/compatibility/ledger.hpp"

namespace actorrun::cli {

namespace {

using enum verdict;

constexpr ledger_entry options[] = {
  {"--help", same, "its text is our own"},
  {"--nnodes", better, "up to 100,000; nodes come, go and die at any time"},
  {"--nproc-per-node", better,
   "a number, `cpu`, `gpu`, `xpu`, `auto`; also `gpu:0,2,5`. Names of other"
   " accelerators are refused: PyTorch alone knows them"},
  {"--rdzv-backend", different,
   "without it `static` where `--master-addr` or a node's rank is given, else"
   " `c10d`, which is our coordinator; torchrun's default is `static`"
   " throughout. `etcd` and `etcd-v2` speak etcd's version 3. Python's"
   " plug-ins are refused"},
  {"--rdzv-endpoint", different,
   "`static` has a default port, 29500. The path of a file is refused"},
  {"--rdzv-id", better, "honoured on one node, too"},
  {"--rdzv-conf", different,
   "unknown keys are refused, and so is `store_type=file`; `timeout` and"
   " `heartbeat`, which torchrun ignores, count as `join_timeout` and"
   " `heartbeat_timeout`; times may have units"},
  {"--standalone", different,
   "no TCP port for nodes; `--rdzv-id` is honoured; `--nnodes=2` is refused,"
   " which would wait in vain"},
  {"--max-restarts", different,
   "counted for the job, not per node: one failure costs one restart"},
  {"--monitor-interval", better,
   "checked, and without effect: events are waited for, not polled"},
  {"--start-method", different,
   "checked, and without effect: it is about functions in Python's"
   " multiprocessing, and workers are programs. A warning says so"},
  {"--event-log-handler", better,
   "`null`, `console`; time stamps are filled in, ends are told for every"
   " epoch, and an agent of a failed job says FAILED. Others are Python's and"
   " refused; programs use `launcher_hooks::on_event`"},
  {"--role", same, ""},
  {"--module", same, "also `-m`"},
  {"--no-python", same, ""},
  {"--run-path", different,
   "a Python of its own runs it by runpy, no copy of the launcher; a relative"
   " path will do; the report names the script, not `run_script_path`"},
  {"--log-dir", same, "see files, below"},
  {"--redirects", better,
   "also `-r`; ranks of any size; a rank that does not exist is told, one that"
   " stands twice is refused"},
  {"--tee", better, "also `-t`; likewise, and no line is torn"},
  {"--local-ranks-filter", better, "a rank that does not exist is told"},
  {"--log-line-prefix-template", same, ""},
  {"--duplicate-stdout-filters", better,
   "without `--tee` a warning: nothing is filtered"},
  {"--duplicate-stderr-filters", better, "likewise"},
  {"--node-rank", better,
   "a rank that does not exist, or twice, is refused with its reason"},
  {"--master-addr", different,
   "on one node without effect: its workers meet on loopback. IPv6 with and"
   " without brackets"},
  {"--master-port", same, "on one node it is `MASTER_PORT` of the workers"},
  {"--local-addr", different,
   "without it the address of the connection to the coordinator, which others"
   " can reach; not the FQDN, which they may not know"},
  {"--logs-specs", refused,
   "but for `default`: it names Python code. `--log-dir`, `--redirects` and"
   " `--tee` say where output goes; C++ programs give the launcher a"
   " `log_layout`"},
  {"--numa-binding", better,
   "memory is preferably taken from the same NUMA nodes; neither `numactl`"
   " nor an accelerator is needed; `--report-bindings` shows what came of "
   "it"},
  {"--signals-to-handle", different,
   "unknown names are refused; there they are skipped, with a traceback"},
  {"--shutdown-timeout", better, "on every occasion, not only at the end"},
  {"--virtual-local-rank", same, ""},
  {"--print-completion", better, "also fish; needs no Python package"},
  {"--use-env", different,
   "of `torch.distributed.launch`: accepted, and without effect, for"
   " `LOCAL_RANK` is always there. Instead of the argument that it adds"
   " without this option: `SCRIPT --local-rank='${local_rank}'`"},
  {"--metrics-cfg", refused,
   "torchrun has it no more: `--event-log-handler=console`,"
   " `actorctl status --json`"},
  {"--version", added, ""},
  {"--secret-file", added, "who may join"},
  {"--no-agent-store", added,
   "rank 0 listens at `MASTER_PORT`, as with torchrun's"
   " `TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1`"},
  {"--report-bindings", added, ""},
  {"--fold-identical", added, "one line for what many ranks print"},
  {"--log-rotate-size", added, ""},
  {"--log-rotate-keep", added, ""},
  {"--signals-to-forward", added, "workers get them, and the job goes on"},
  {"--stop-signal", added, ""},
  {"--no-timer", added, "as `TORCHELASTIC_ENABLE_FILE_TIMER=0`"},
  {"--watchdog", added, "for programs that speak systemd's `sd_notify`"},
};

} // namespace

ledger_entries option_entries() {
  return options;
}

} // namespace actorrun::cli
