#include "cli/compatibility/ledger.hpp"

namespace actorrun::cli {

namespace {

using enum verdict;

constexpr ledger_entry options[] = {
  {"--help", same, "the text is actorrun's own"},
  {"--nnodes", better,
   "up to 100,000; nodes may join, leave and die at any time"},
  {"--nproc-per-node", better,
   "a number, `cpu`, `gpu`, `xpu`, `auto`; also `gpu:0,2,5`. Names of other"
   " accelerators are refused, because only PyTorch knows them"},
  {"--rdzv-backend", different,
   "the default is `static` if `--master-addr`, `--master-port` or a node's"
   " rank is given, otherwise `c10d`, which is actorrun's coordinator;"
   " torchrun 2.14 chooses `c10d` for one node without an endpoint and a port,"
   " and `static` otherwise; before it was always `static`. `etcd` and "
   "`etcd-v2` use etcd's API"
   " version 3. Python plug-ins are refused"},
  {"--rdzv-endpoint", different,
   "`static` has a default port, 29500. The path of a file is refused, and so "
   "is an empty host, which torchrun takes for this one. One node alone does"
   " not ask there: two such jobs do not get in each other's way"},
  {"--rdzv-id", better, "also used on one node"},
  {"--rdzv-conf", different,
   "unknown keys, and those of another back end, have no effect, with a"
   " warning. `store_type=file` is refused. `timeout` is read as"
   " `join_timeout`, with a warning where torchrun ignores it (`c10d`); with"
   " `static` and `etcd` torchrun reads it, too. `heartbeat`, which torchrun"
   " ignores, is read as `heartbeat_timeout`, with a warning. Times may have"
   " units. One pair of quotes around the whole is dropped"},
  {"--standalone", different,
   "no TCP port for nodes; `--rdzv-id` is used; `--nnodes=2` is refused,"
   " because the job would wait in vain"},
  {"--max-restarts", different,
   "counted for the job, not per node: one failure costs one restart"},
  {"--monitor-interval", better,
   "checked, but has no effect: actorrun does not poll"},
  {"--start-method", different,
   "checked, but has no effect, with a warning: it applies to Python"
   " functions, and workers are programs"},
  {"--event-log-handler", better,
   "`null`, `console`. Time stamps are filled in, the end of workers is"
   " reported for every generation, and an agent of a failed job reports "
   "FAILED."
   " Other handlers are Python code and refused; C++ programs use"
   " `launcher_hooks::on_event`"},
  {"--role", same, ""},
  {"--module", same, "also `-m`"},
  {"--no-python", same, ""},
  {"--run-path", different,
   "a new Python process runs the script by runpy, not a copy of the"
   " launcher; a relative path is accepted; the report names the script, not"
   " `run_script_path`"},
  {"--log-dir", same, "see Files and processes, below"},
  {"--redirects", better,
   "also `-r`; ranks above 9 are accepted; a rank that does not exist gets a"
   " warning, and a rank that is listed twice is refused"},
  {"--tee", better, "also `-t`; as `--redirects`, and lines are never torn"},
  {"--local-ranks-filter", better, "a rank that does not exist gets a warning"},
  {"--log-line-prefix-template", same, ""},
  {"--duplicate-stdout-filters", better,
   "without `--tee` a warning: nothing is filtered"},
  {"--duplicate-stderr-filters", better, "as `--duplicate-stdout-filters`"},
  {"--node-rank", better,
   "a rank that does not exist, or that is taken, is refused with the reason"},
  {"--master-addr", different,
   "on one node it has no effect: the workers meet on loopback. IPv6 with and"
   " without brackets"},
  {"--master-port", same, "on one node it is `MASTER_PORT` of the workers"},
  {"--local-addr", different,
   "the default is the local address of the connection to the coordinator,"
   " which other nodes can reach; not the FQDN, which they may not resolve"},
  {"--logs-specs", refused,
   "except `default`: it names Python code. Use `--log-dir`, `--redirects`"
   " and `--tee`; C++ programs give the launcher a `log_layout`"},
  {"--numa-binding", better,
   "memory is preferred from the same NUMA nodes; neither `numactl` nor an"
   " accelerator is needed; `--report-bindings` shows the result"},
  {"--signals-to-handle", better,
   "names that are unknown or of no use are left out with a warning; if none"
   " is left, an error. In torchrun a traceback for each"},
  {"--shutdown-timeout", better,
   "applies to every stop, not only the last one"},
  {"--virtual-local-rank", same, ""},
  {"--print-completion", better, "also fish; needs no Python package"},
  {"--use-env", different,
   "of `torch.distributed.launch`: needed only by a link of that name, because"
   " `LOCAL_RANK` is always set. `--pass-local-rank` asks for the argument that"
   " `launch` adds without this option"},
  {"--metrics-cfg", refused,
   "torchrun no longer has it. Use `--metrics-port`,"
   " `--event-log-handler=console` or `actorctl status --json`"},
  {"--version", added, ""},
  {"--hosts", added,
   "starts the job on all these hosts by ssh, as `mpirun` does"},
  {"--hostfile", added, "the same from a file, in Hydra's or Open MPI's form"},
  {"--rsh", added, "what reaches the hosts, in place of ssh"},
  {"--export", added, "variables that the hosts get, too"},
  {"--secret-file", added, "the secret that nodes need to join"},
  {"--require-secret", added,
   "several nodes run only with a secret, certificates or munge"},
  {"--journal", added,
   "where the coordinator writes what happens, for `actorctl why`"},
  {"--tls-cert", added, "the certificate that this node shows the others"},
  {"--tls-key", added, "its private key"},
  {"--tls-ca", added, "the authority of the other nodes' certificates"},
  {"--munge", added,
   "whether munge proves whose processes join, as it does under Slurm"},
  {"--pass-local-rank", added,
   "the script gets `--local-rank=N`, as from `torch.distributed.launch`; also"
   " if the program is called by that name, through a link"},
  {"--no-agent-store", added,
   "rank 0 listens at `MASTER_PORT`, as with torchrun's"
   " `TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1`"},
  {"--report-bindings", added, "prints what workers are bound to"},
  {"--fold-identical", added, "one console line for what many ranks print"},
  {"--log-rotate-size", added, "limits the size of log files"},
  {"--log-rotate-keep", added, "limits the number of rotated files"},
  {"--signals-to-forward", added,
   "workers get these signals, and the job goes on"},
  {"--exclude-after", added, "hosts that fail again and again get no place"},
  {"--safe-point-timeout", added,
   "a change that can wait waits so long for workers to come to one step"},
  {"--notice-signal", added, "tells workers that their node is to leave"},
  {"--notice-before", added,
   "workers save, or get that signal, some time before Slurm's time limit"},
  {"--stop-signal", added, "the signal that asks workers to end"},
  {"--stop-scope", added,
   "the stop signal spares what workers have started, such as data loaders"},
  {"--no-timer", added, "as `TORCHELASTIC_ENABLE_FILE_TIMER=0`"},
  {"--watchdog", added, "for programs that use systemd's `sd_notify`"},
  {"--metrics-port", added, "metrics for Prometheus, `/healthz`, `/readyz`"},
  {"--dashboard-port", added, "a page for browsers that shows the job live"},
  {"--report-file", added,
   "how the job has ended as JSON, on every node, for the program that has"
   " started it"},
  {"--no-report", added, "that program prints the failures itself"},
  {"--entry-name", added, "what reports and events call the program"},
  {"--event-log-fd", added,
   "events as lines of JSON for another program, in place of handlers in"
   " Python"},
  {"--parent-fd", added, "the job ends with the program that has started it"},
  {"--no-pet", added, "neither reads the variables `PET_…` nor passes them on"},
};

} // namespace

ledger_entries option_entries() {
  return options;
}

} // namespace actorrun::cli
