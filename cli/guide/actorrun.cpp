#include "cli/guide/common.hpp"
#include "cli/guide/guide.hpp"
#include "cli/options/actorrun_options.hpp"

namespace actorrun::cli {

namespace {

manual_sections actorrun_manual() {
  auto out = manual_sections{};
  out.environment = {
    {"PET_*",
     "options, under the names that stand above; for a flag an integer, where 0"
     " means off. A variable PET_... that no option reads gets a warning."
     " --no-pet: none of them is read."},
    {"SLURM_STEP_ID", "and its neighbours: a step of Slurm that has started"
                      " it gives nodes, ranks, meeting point, job id and GPUs"
                      " that no option names"},
    {"PYTHON_EXEC",
     "the interpreter of scripts and modules; if not set, that of"
     " the venv or conda environment whose bin actorrun was called"
     " in, or "
     "python3 or else python"
     " from PATH."},
    {"PATH", "where programs are looked up."},
    {"TORCH_ELASTIC_SHUTDOWN_TIMEOUT",
     "used if PET_SHUTDOWN_TIMEOUT is not set."},
    {"TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE",
     "used if PET_LOG_LINE_PREFIX_TEMPLATE is not set."},
    {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE",
     "used if PET_NO_AGENT_STORE is not set."},
    {"TORCHELASTIC_UNINTERRUPTIBLE_STATE_TIMEOUT",
     "seconds from SIGKILL until a worker that does not end is given up; 30 if"
     " not set or 0."},
    {"TORCHELASTIC_ENABLE_FILE_TIMER",
     "0: as --no-timer; 1 or not set: timers are on."},
    {"TORCHELASTIC_TIMER_FILE",
     "the path of the timer FIFO; if not set, it lies in the run-time folder."},
    {"TORCHELASTIC_HEALTH_CHECK_PORT",
     "a port, or an address and a port: /healthz and /readyz are served "
     "there."},
    {"TORCHELASTIC_ERROR_FILE",
     "where actorrun writes its own failure, for a program that starts it."},
    {"TMPDIR",
     "where log folders are made without --log-dir; if not set, /tmp."},
    {"CUDA_VISIBLE_DEVICES, ZE_AFFINITY_MASK", "which GPUs are visible."},
    {"ACTORRUN_NVML_LIBRARY, ACTORRUN_CUDA_LIBRARY, ACTORRUN_ZE_LIBRARY",
     "libraries to load instead of the drivers' own."},
  };
  append_common_environment(out.environment);
  out.signals = {
    {"the signals of --signals-to-handle",
     "The workers get the same signal, or the --stop-signal if that is given,"
     " and the node leaves the job with exit code 128+n. A second signal kills"
     " the workers; the same one from another sender within 0.3 s does not"
     " count. On the node that hosts the coordinator, the job ends for"
     " all nodes."},
    {"the signals of --signals-to-forward",
     "The workers get them, but not the processes that they have started."},
    {"SIGPIPE", "Ignored."},
    {"any other",
     "Keeps its usual effect; if that ends actorrun, its workers end with it."},
  };
  out.files = {
    {"LOG_DIR/ID_XXXXXXXX/attempt_N/RANK/",
     "The files stdout.log, stderr.log and error.json of a worker; N counts"
     " restarts, RANK is the local rank."},
    {"LOG_DIR/ID_XXXXXXXX/attempt_N/",
     "The files filtered_stdout.log and filtered_stderr.log of the node."},
    own_secret(),
    run_time_folder(),
  };
  out.see_also = {"actorctl(1)", "torchrun(1)", "signal(7)"};
  return out;
}

} // namespace

program_guide actorrun_guide() {
  auto out = program_guide{describe(*run_program{}.app)};
  out.operand
    = "The first word that is not an option is the script; all words after it"
      " are its arguments. It runs with $PYTHON_EXEC, python3 or python; a"
      " script that is an ELF program runs by itself. In all these words,"
      " ${local_rank} is replaced by the worker's rank on its node.\n\n"
      "Options may be written with dashes or underscores and be abbreviated"
      " where that is unambiguous. An option that is not given is read from its"
      " variable, such as PET_NNODES.";
  out.examples = {
    {"actorrun --standalone --nproc-per-node=4 train.py --epochs 3",
     "Four workers on this node:"},
    {"actorrun --nnodes=2:4 --rdzv-endpoint=node1 --rdzv-id=job1"
     " --nproc-per-node=8 --max-restarts=3 train.py",
     "Two to four nodes with eight workers each, started with the same words on"
     " every node:"},
    {"actorrun --hosts=node1:4,node2:4 --export=NCCL_* train.py",
     "The same words once, for all hosts, by ssh:"},
    {"actorrun --nnodes=2 --node-rank=1 --master-addr=node0 -m trainer",
     "The second of two nodes with fixed ranks:"},
  };
  out.usual = {"--standalone",    "--nproc-per-node",
               "--nnodes",        "--hosts",
               "--rdzv-endpoint", "--rdzv-id",
               "--node-rank",     "--master-addr",
               "--master-port",   "--max-restarts",
               "--module",        "--no-python",
               "--log-dir",       "--tee",
               "--redirects",     "--shutdown-timeout",
               "--watchdog",      "--dashboard-port",
               "--metrics-port",  "--secret-file",
               "--dry-run",       "--help",
               "--version"};
  out.manual = actorrun_manual();
  return out;
}

} // namespace actorrun::cli
