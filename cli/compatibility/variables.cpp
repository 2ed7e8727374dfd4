#include "cli/compatibility/ledger.hpp"

namespace actorrun::cli {

namespace {

using enum verdict;

constexpr ledger_entry read[] = {
  {"PET_*", better,
   "of every option that has one there, and of all of ours; behind the"
   " command line, before the default. Values of all kinds are checked, an"
   " error names the variable, and a name that no option has gets a warning"},
  {"PYTHON_EXEC", same,
   "without it `python3`, then `python`, of `PATH`: there is no Python that"
   " runs us"},
  {"LOGLEVEL", different,
   "without it INFO, which is quiet on one node; what is no level is told,"
   " there it is a traceback"},
  {"OMP_NUM_THREADS", same, "1 for several workers if not set, and no banner"},
  {"TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE", same, "after `PET_…`"},
  {"TORCH_ELASTIC_SHUTDOWN_TIMEOUT", same, "after `PET_…`"},
  {"TORCHELASTIC_SIGNALS_TO_HANDLE", same, "set anew from the option"},
  {"TORCHELASTIC_ENABLE_FILE_TIMER", better,
   "timers are on unless this is 0; there they are off unless it is 1"},
  {"TORCHELASTIC_TIMER_FILE", same, "where the FIFO is"},
  {"TORCHELASTIC_HEALTH_CHECK_PORT", refused,
   "with a warning: torchrun only logs that it has no such server;"
   " `actorctl status --json`"},
  {"TORCHELASTIC_UNINTERRUPTIBLE_STATE_TIMEOUT", different,
   "seconds from SIGKILL, not of state D, until a worker that does not end is"
   " given up: the node leaves with exit code 7 and the others go on; there"
   " all restarts are void, and the exit code is 0"},
  {"TORCH_ELASTIC_WORKER_IDENTICAL", better,
   "not needed: no ranks are exchanged through a store"},
  {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE", better,
   "as `--no-agent-store`; what is no number is refused, there it is 0"},
  {"TORCH_NCCL_ASYNC_ERROR_HANDLING", same, ""},
  {"CUDA_VISIBLE_DEVICES", same,
   "also for `--nproc-per-node=gpu`: numbers, UUIDs, MIG"},
  {"TORCHELASTIC_ERROR_FILE", same, "of the launcher itself"},
  {"TORCHELASTIC_ETCD_BINARY_PATH", different,
   "not read: it is for torch's own tests"},
  {"USE_LIBUV", different,
   "not read: our store needs none. Workers get it as it is"},
  {"TORCH_MP_PARALLEL_START", different,
   "not read: there are no function workers of Python"},
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
   "the address by which node rank 0 is connected, so that all others reach"
   " it; not its FQDN. 127.0.0.1 on one node"},
  {"MASTER_PORT", different,
   "a new port in every epoch, told to all nodes, so that no store of an"
   " earlier one is met. Also with `static` on several nodes, where"
   " `--master-port` is the coordinator's; on one node it is "
   "`--master-port`"},
  {"TORCHELASTIC_RESTART_COUNT", better,
   "equal on all nodes, and it never falls"},
  {"TORCHELASTIC_MAX_RESTARTS", same, ""},
  {"TORCHELASTIC_RUN_ID", same, ""},
  {"TORCHELASTIC_USE_AGENT_STORE", same,
   "`True`, or `False` with `--no-agent-store`"},
  {"TORCH_NCCL_ASYNC_ERROR_HANDLING", same,
   "1, unless set. PyTorch before 2.2 reads `NCCL_ASYNC_ERROR_HANDLING`, which"
   " is left alone"},
  {"TORCHELASTIC_ERROR_FILE", same, "empty with `--log-dir=/dev/null`"},
  {"TORCHELASTIC_TIMER_FILE", better,
   "one path for as long as the agent lives; there a new one at each restart"},
  {"TORCHELASTIC_SIGNALS_TO_HANDLE", same, ""},
  {"OMP_NUM_THREADS", same, "1, unless set or there is one worker"},
  {"CUDA_VISIBLE_DEVICES", same,
   "as inherited; one device with `--virtual-local-rank`; the list of"
   " `gpu:LIST`"},
  {"ACTORRUN_EPOCH", added, "the number of this group of workers"},
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
