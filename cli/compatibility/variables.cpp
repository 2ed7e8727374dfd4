#include "cli/compatibility/ledger.hpp"

namespace actorrun::cli {

namespace {

using enum verdict;

constexpr ledger_entry read[] = {
  {"PET_*", better,
   "for every option that has one in torchrun, and for all additional ones"
   " but those about one process (`--parent-fd`, …);"
   " used after the command line and before the default. Values of all types"
   " are checked, an error names the variable, and a variable that no option"
   " reads gets a warning"},
  {"PYTHON_EXEC", same,
   "the default is the Python of the environment (venv, conda) in whose `bin`"
   " actorrun or a link to it was called, then `python3`, then `python`, from"
   " `PATH`; torchrun uses the Python that runs it"},
  {"LOGLEVEL", different,
   "the default is INFO, which logs little on one node; an unknown level gets"
   " a warning, in torchrun a traceback"},
  {"OMP_NUM_THREADS", same,
   "1 for several workers if not set, without torchrun's banner"},
  {"TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE", same,
   "used if the variable `PET_…` is not set"},
  {"TORCH_ELASTIC_SHUTDOWN_TIMEOUT", same,
   "used if the variable `PET_…` is not set"},
  {"TORCHELASTIC_SIGNALS_TO_HANDLE", same, "overwritten from the option"},
  {"TORCHELASTIC_ENABLE_FILE_TIMER", better,
   "timers are on unless this is 0; in torchrun they are off unless it is 1"},
  {"TORCHELASTIC_TIMER_FILE", same, "the path of the FIFO"},
  {"TORCHELASTIC_HEALTH_CHECK_PORT", better,
   "`/healthz` and `/readyz` are served there, for this host or at the given"
   " address (`0.0.0.0:8080`), with true answers; torchrun only logs that it "
   "has"
   " no such server. If the port is taken, the job goes on with a warning"},
  {"NOTIFY_SOCKET", different,
   "actorrun reports to this service manager itself; workers inherit neither"
   " it nor `WATCHDOG_USEC` and `WATCHDOG_PID`, as they do from torchrun"},
  {"SLURM_STEP_ID", different,
   "in a step of Slurm, nodes, ranks, meeting point, job id and GPUs that no"
   " option names are the step's; `--standalone` leaves them alone. torchrun"
   " reads nothing of Slurm"},
  {"TORCHELASTIC_UNINTERRUPTIBLE_STATE_TIMEOUT", different,
   "seconds from SIGKILL, not of state D, until a worker that does not end is"
   " given up: the node leaves with exit code 7 and the others go on. In"
   " torchrun all restarts are void, and the exit code is 0"},
  {"TORCH_ELASTIC_EXIT_BARRIER_TIMEOUT", different,
   "not read: a node that has succeeded waits for as long as the others take,"
   " and takes part if the group starts again"},
  {"TORCH_ELASTIC_WORKER_IDENTICAL", better,
   "not needed: ranks are not exchanged through a store"},
  {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE", better,
   "as `--no-agent-store`; a value that is not a number is refused, in"
   " torchrun it counts as 0"},
  {"TORCH_NCCL_ASYNC_ERROR_HANDLING", same, ""},
  {"CUDA_VISIBLE_DEVICES", same,
   "also for `--nproc-per-node=gpu`: numbers, UUIDs, MIG"},
  {"TORCHELASTIC_ERROR_FILE", same, "of the launcher itself"},
  {"TORCHELASTIC_ETCD_BINARY_PATH", different,
   "not read: it is for torch's own tests"},
  {"USE_LIBUV", different,
   "not read: actorrun's store does not need it. Workers inherit it"},
  {"TORCH_MP_PARALLEL_START", different,
   "not read: there are no Python function workers"},
};

constexpr ledger_entry given[] = {
  {"RANK", same, ""},
  {"LOCAL_RANK", same, "0 with `--virtual-local-rank`"},
  {"WORLD_SIZE", same, ""},
  {"LOCAL_WORLD_SIZE", same, ""},
  {"GROUP_RANK", same, ""},
  {"GROUP_WORLD_SIZE", same, ""},
  {"ROLE_RANK", same, ""},
  {"ROLE_WORLD_SIZE", same, ""},
  {"ROLE_NAME", same, ""},
  {"MASTER_ADDR", different,
   "the local address of node rank 0's connection, so that all others reach"
   " it; not its FQDN. With `static` it is `--master-addr`, and of `localhost`"
   " the host's address. 127.0.0.1 on one node"},
  {"MASTER_PORT", different,
   "a new port in every generation, announced to all nodes, so that no worker "
   "finds"
   " the store of an earlier generation. With `static` it is `--master-port`:"
   " the coordinator's port leads to the store of the generation, unless"
   " `--no-agent-store` is given; on one node it is `--master-port`, or 29500 "
   "as"
   " described under Behaviour"},
  {"TORCHELASTIC_RESTART_COUNT", better,
   "equal on all nodes, and never decreases"},
  {"TORCHELASTIC_MAX_RESTARTS", same, ""},
  {"TORCHELASTIC_RUN_ID", different,
   "on one node without `--rdzv-id` a random UUID, as in torchrun 2.14 or with"
   " `--standalone`; torchrun before has `none`"},
  {"TORCHELASTIC_USE_AGENT_STORE", same,
   "`True`, or `False` with `--no-agent-store`"},
  {"TORCH_NCCL_ASYNC_ERROR_HANDLING", same,
   "1, unless set. PyTorch before 2.2 reads `NCCL_ASYNC_ERROR_HANDLING`, which"
   " is not changed"},
  {"TORCHELASTIC_ERROR_FILE", same, "empty with `--log-dir=/dev/null`"},
  {"TORCHELASTIC_TIMER_FILE", better,
   "one path for as long as the agent lives; in torchrun a new one at each"
   " restart"},
  {"TORCHELASTIC_SIGNALS_TO_HANDLE", same, ""},
  {"OMP_NUM_THREADS", same, "1, unless it is set or there is one worker"},
  {"CUDA_VISIBLE_DEVICES", same,
   "as inherited; one device with `--virtual-local-rank`, none where the"
   " inherited value hides all; the list of `gpu:LIST`"},
  {"ACTORRUN_CONTROL", added,
   "the socket of workers that live through changes (live_workers.md)"},
  {"ACTORRUN_EPOCH", added,
   "the former name of `ACTORRUN_FENCING_TOKEN`; goes away with the release "
   "after the first"},
  {"ACTORRUN_FENCING_TOKEN", added,
   "grows with each generation, whatever is lost: storage refuses writers with "
   "a lesser one"},
  {"ACTORRUN_GENERATION", added, "the number of the generation: 1, 2, 3…"},
  {"ACTORRUN_JOB_ID", added, "as `TORCHELASTIC_RUN_ID`"},
};

} // namespace

ledger_entries read_variable_entries() {
  return read;
}

ledger_entries given_variable_entries() {
  return given;
}

} // namespace actorrun::cli
