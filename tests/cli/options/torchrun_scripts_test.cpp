// Command lines and environments from scripts for torchrun: each is accepted,
// has the same meaning, and causes no warning.
#include "tests/cli/options/arguments_fixture.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::torchrun_scripts_test {

using namespace actorrun::cli;

namespace {

struct wild_line {
  words line; ///< Without the script.
  variables environment;
  std::string meaning;
};

/// `2 workers, alone`; `8 workers, static n1:29500 rank 1, 4 nodes`.
std::string meaning_of(const run_arguments& x) {
  auto out = std::to_string(x.agent.workers.slot_count) + " workers, ";
  if (!x.job.rendezvous)
    return out + "alone"
           + (x.agent.master_port
                ? " at " + std::to_string(*x.agent.master_port)
                : "");
  out += (x.agent.node_rank ? "static " : "") + to_string(*x.job.rendezvous);
  if (x.agent.node_rank)
    out += " rank " + std::to_string(*x.agent.node_rank);
  const auto min = x.job.agent_count_min;
  const auto max = x.job.agent_count_max;
  return out + ", " + (min == max ? "" : std::to_string(min) + " to ")
         + std::to_string(max) + " nodes";
}

void check_all(const std::vector<wild_line>& lines) {
  for (const auto& x : lines) {
    INFO(x.meaning << " of " << (x.line.empty() ? "" : x.line.back()));
    const auto taken = accepted(with_script(x.line), x.environment);
    CHECK(meaning_of(taken) == x.meaning);
    CHECK(taken.warnings.empty());
  }
}

} // namespace

TEST_CASE("wild: one machine", "[cli]") {
  check_all({
    {{}, {}, "1 workers, alone"},
    {{"--nproc_per_node=8"}, {}, "8 workers, alone"},
    {{"--nproc_per_node", "4", "--master_port", "29501"},
     {},
     "4 workers, alone at 29501"},
    {{"--standalone", "--nnodes=1", "--nproc-per-node=cpu"},
     {},
     "12 workers, alone"},
    {{"--standalone", "--nproc_per_node=auto"}, {}, "12 workers, alone"},
    {{"--nnodes=1:1", "--nproc_per_node=2"}, {}, "2 workers, alone"},
    {{"--nnodes=1", "--nproc_per_node", "2", "--rdzv_backend", "c10d",
      "--rdzv_endpoint", "localhost:0"},
     {},
     "2 workers, alone"},
    {{"--rdzv-backend=c10d", "--rdzv-endpoint=localhost:0",
      "--nproc_per_node=2", "--nnodes=1", "--rdzv-id=17"},
     {},
     "2 workers, alone"},
    {{"--nproc_per_node=2", "--nnodes=1", "--node_rank=0",
      "--master_addr=localhost", "--master_port=29503"},
     {},
     "2 workers, alone at 29503"},
    {{"--nproc_per_node=2", "--nnodes=1", "--node_rank=0",
      "--master_addr=127.0.0.1"},
     {},
     "2 workers, alone"},
    {{"--rdzv_backend=static", "--rdzv_endpoint=localhost:29504",
      "--nproc_per_node=2"},
     {},
     "2 workers, alone at 29504"},
    {{"--standalone", "--nproc_per_node=2", "--log_dir", "logs", "-r", "3",
      "-t", "3", "--max_restarts=0"},
     {},
     "2 workers, alone"},
    {{"--nproc_per_node=2", "--log_dir=logs", "--redirects", "1:3", "--tee",
      "0:3", "--role", "trainer", "--local_ranks_filter", "0"},
     {},
     "2 workers, alone"},
    {{"--use_env", "--nproc_per_node=2"}, {}, "2 workers, alone"},
  });
}

TEST_CASE("wild: several machines", "[cli]") {
  check_all({
    {{"--nnodes=4", "--node_rank=1", "--nproc_per_node=8", "--master_addr=n1",
      "--master_port=29500"},
     {},
     "8 workers, static n1:29500 rank 1, 4 nodes"},
    {{"--nnodes", "2", "--nproc_per_node", "8", "--rdzv_id", "4711",
      "--rdzv_backend", "c10d", "--rdzv_endpoint", "n1:29500"},
     {},
     "8 workers, n1:29500, 2 nodes"},
    {{"--nnodes=1:4", "--nproc_per_node=8", "--max_restarts=3", "--rdzv_id=job",
      "--rdzv_backend=c10d", "--rdzv_endpoint=n1"},
     {},
     "8 workers, n1:29400, 1 to 4 nodes"},
    {{"--nnodes=2", "--nproc_per_node=8", "--rdzv_id=7", "--rdzv_backend=c10d",
      "--rdzv_endpoint=10.0.0.1:29400",
      "--rdzv_conf=join_timeout=600,read_timeout=60", "--max_restarts=0",
      "--monitor_interval=5", "--tee=3"},
     {},
     "8 workers, 10.0.0.1:29400, 2 nodes"},
    {{"--nnodes=2", "--rdzv_backend=static", "--rdzv_endpoint=n1:29500",
      "--node_rank=1"},
     {},
     "1 workers, static n1:29500 rank 1, 2 nodes"},
    {{"--nnodes=1", "--rdzv_id=7", "--rdzv_backend=c10d",
      "--rdzv_endpoint=n1:29400"},
     {},
     "1 workers, alone"},
  });
}

TEST_CASE("wild: variables of operators and batch systems", "[cli]") {
  check_all({
    {{},
     {{"PET_NNODES", "2"},
      {"PET_NPROC_PER_NODE", "4"},
      {"PET_NODE_RANK", "1"},
      {"PET_MASTER_ADDR", "job-master-0"},
      {"PET_MASTER_PORT", "23456"}},
     "4 workers, static job-master-0:23456 rank 1, 2 nodes"},
    {{},
     {{"PET_NNODES", "1:3"},
      {"PET_NPROC_PER_NODE", "1"},
      {"PET_MAX_RESTARTS", "10"},
      {"PET_RDZV_BACKEND", "c10d"},
      {"PET_RDZV_ENDPOINT", "job-worker-0:23456"},
      {"PET_RDZV_ID", "job"},
      {"PET_RDZV_CONF", "is_host=true"},
      {"MASTER_ADDR", "ignored"},
      {"WORLD_SIZE", "3"}},
     "1 workers, job-worker-0:23456, 1 to 3 nodes"},
    {{"--nproc_per_node=2"},
     {{"PET_NPROC_PER_NODE", "4"}, {"PET_STANDALONE", "1"}},
     "2 workers, alone"},
    {{"--nproc_per_node=2"},
     {{"PET_RDZV_ENDPOINT", ""}, {"PET_MASTER_ADDR", ""}, {"PET_LOG_DIR", ""}},
     "2 workers, alone"},
    {{"--nnodes=2", "--nproc_per_node=4", "--node_rank=0", "--master_addr=n1",
      "--master_port=6000"},
     {{"SLURM_NODEID", "0"}, {"SLURM_NNODES", "2"}, {"RANK", "1"}},
     "4 workers, static n1:6000 rank 0, 2 nodes"},
  });
}

TEST_CASE("wild: programs and interpreters", "[cli]") {
  const auto run = [](const words& line) {
    const auto x = accepted(line).program;
    auto out = std::string{x.is_module   ? "module "
                           : x.no_python ? "program "
                                         : "script "}
               + x.name;
    for (const auto& word : x.arguments)
      out += " " + word;
    return out;
  };
  CHECK(run({"train.py", "--local_rank", "0", "--nproc_per_node", "9"})
        == "script train.py --local_rank 0 --nproc_per_node 9");
  CHECK(run({"--nproc_per_node=2", "-m", "axolotl.cli.train", "config.yml"})
        == "module axolotl.cli.train config.yml");
  CHECK(run({"--no_python", "bash", "-c", "echo $RANK"})
        == "program bash -c echo $RANK");
  CHECK(run({"--nproc_per_node=2", "--", "train.py", "-r", "x"})
        == "script train.py -r x");
  CHECK(run({"-r3", "-t3", "tools/train.py", "--launcher", "pytorch"})
        == "script tools/train.py --launcher pytorch");
}

} // namespace actorrun::test::torchrun_scripts_test
