#include "cli/options/slurm_step.hpp"
#include "cli/slurm_address.hpp"
#include "tests/cli/options/arguments_fixture.hpp"

namespace actorrun::test::slurm_step_test {

using namespace actorrun::cli;

namespace {

/// Of node rank 1 of four, as `srun -N4` of Slurm 22.05 sets them.
variables step_variables(const variables& others = {}) {
  auto out = variables{{"SLURM_JOB_ID", "170"},
                       {"SLURM_STEP_ID", "2"},
                       {"SLURM_STEP_NUM_NODES", "4"},
                       {"SLURM_STEP_NUM_TASKS", "4"},
                       {"SLURM_NODEID", "1"},
                       {"SLURM_PROCID", "1"},
                       {"SLURM_STEP_NODELIST", "n[3-6]"}};
  for (const auto& [name, value] : others)
    out[name] = value;
  return out;
}

/// Where node rank 0 of that step is.
const auto meeting = endpoint{.host = "n3", .port = 20'372};

} // namespace

TEST_CASE("slurm: the first host of a list", "[cli]") {
  CHECK(first_of_host_list("n1") == "n1");
  CHECK(first_of_host_list("n[03-05,9],m1") == "n03");
  CHECK(first_of_host_list("n[7,9]-ib0,m1") == "n7-ib0");
  CHECK(first_of_host_list("rack[1-2]node[10-12]") == "rack1node10");
  CHECK(first_of_host_list("m1.cluster,n[1-2]") == "m1.cluster");
  CHECK(first_of_host_list("").empty());
  CHECK(first_of_host_list("n[1-2").empty());
  CHECK(first_of_host_list("a b").empty());
}

TEST_CASE("slurm: a step needs no options", "[cli]") {
  const auto x = accepted({"train.py"}, step_variables());
  CHECK(x.job.backend == rendezvous_backend::fixed);
  CHECK(x.job.rendezvous == meeting);
  CHECK(x.job.agent_count_min == 4);
  CHECK(x.job.agent_count_max == 4);
  CHECK(x.agent.node_rank == 1u);
  CHECK(x.job.job.value == "slurm-170.2");
  CHECK(x.agent.workers.slot_count == 1);
  CHECK(x.warnings.empty());
  CHECK(x.notices
        == words{"step 170.2 of Slurm gives: 4 nodes (srun starts this on each;"
                 " --standalone is for one alone), node rank 1, the coordinator"
                 " at n3:20372, the job id slurm-170.2"});
}

TEST_CASE("slurm: without a step there is nothing to take", "[cli]") {
  // In the script of sbatch.
  const auto script = accepted(
    {"train.py"},
    {{"SLURM_JOB_ID", "170"}, {"SLURM_NNODES", "4"}, {"SLURM_NODEID", "0"}});
  CHECK(!script.job.rendezvous);
  CHECK(script.notices.empty());
  // In a worker.
  const auto worker = accepted(
    {"train.py"}, step_variables({{"TORCHELASTIC_RUN_ID", "slurm-170.2"}}));
  CHECK(!worker.job.rendezvous);
}

TEST_CASE("slurm: options come first", "[cli]") {
  const auto own = accepted({"--nnodes=4", "--rdzv-id=7", "--rdzv-backend=c10d",
                             "--rdzv-endpoint=n9:29500", "train.py"},
                            step_variables());
  CHECK(own.job.rendezvous == endpoint{.host = "n9", .port = 29'500});
  CHECK(own.job.backend == rendezvous_backend::native);
  CHECK(own.job.job.value == "7");
  CHECK(own.notices.empty());
  CHECK(
    !accepted({"--standalone", "train.py"}, step_variables()).job.rendezvous);
  CHECK(!accepted({"--nnodes=1", "train.py"}, step_variables()).job.rendezvous);
  CHECK(accepted({"--rdzv-id=7", "train.py"}, step_variables()).job.job.value
        == "7");
  const auto variable
    = accepted({"train.py"}, step_variables({{"PET_RDZV_ENDPOINT", "n9:29500"},
                                             {"PET_NNODES", "2"},
                                             {"PET_RDZV_ID", "7"}}));
  CHECK(variable.job.rendezvous == endpoint{.host = "n9", .port = 29'500});
}

TEST_CASE("slurm: with a range the first node hosts the coordinator", "[cli]") {
  const auto other = accepted({"--nnodes=2:4", "train.py"}, step_variables());
  CHECK(other.job.backend == rendezvous_backend::native);
  CHECK(other.job.rendezvous == meeting);
  CHECK(other.job.place == coordinator_place::elsewhere);
  CHECK(other.job.agent_count_min == 2);
  const auto first = accepted({"--nnodes=2:4", "train.py"},
                              step_variables({{"SLURM_NODEID", "0"}}));
  CHECK(first.job.place == coordinator_place::here);
}

TEST_CASE("slurm: a worker for each GPU of the step", "[cli]") {
  const auto gpus = variables{{"SLURM_GPUS_ON_NODE", "2"}};
  const auto x = accepted({"train.py"}, step_variables(gpus));
  CHECK(x.agent.workers.slot_count == 2);
  CHECK(x.notices.front().ends_with(", 2 workers (SLURM_GPUS_ON_NODE)"));
  CHECK(accepted({"--nproc-per-node=3", "train.py"}, step_variables(gpus))
          .agent.workers.slot_count
        == 3);
  const auto alone
    = accepted({"train.py"}, step_variables({{"SLURM_GPUS_ON_NODE", "2"},
                                             {"SLURM_STEP_NUM_NODES", "1"},
                                             {"SLURM_STEP_NUM_TASKS", "1"},
                                             {"SLURM_NODEID", "0"}}));
  CHECK(alone.agent.workers.slot_count == 2);
  CHECK(!alone.job.rendezvous);
}

TEST_CASE("slurm: several tasks on a node are refused", "[cli]") {
  CHECK(refused({"train.py"}, step_variables({{"SLURM_STEP_NUM_TASKS", "32"}}))
        == "Slurm has started 32 tasks on 4 nodes, and one actorrun on each"
           " node starts the workers of that node: srun --ntasks-per-node=1"
           " actorrun --nproc-per-node=8 …");
  const auto on_one = step_variables({{"SLURM_STEP_NUM_NODES", "1"},
                                      {"SLURM_STEP_NUM_TASKS", "2"},
                                      {"SLURM_NODEID", "0"}});
  CHECK(refused({"train.py"}, on_one)
          .starts_with("Slurm has started 2 tasks on 1 node,"));
  // Jobs of their own.
  CHECK(!accepted({"--nnodes=1", "train.py"}, on_one).job.rendezvous);
}

TEST_CASE("slurm: a requeued job is another one", "[cli]") {
  CHECK(accepted({"train.py"}, step_variables({{"SLURM_RESTART_COUNT", "1"}}))
          .job.job.value
        == "slurm-170.2-requeue1");
}

TEST_CASE("slurm: a reserved port comes first", "[cli]") {
  CHECK(accepted({"train.py"},
                 step_variables({{"SLURM_STEP_RESV_PORTS", "12000-12003"}}))
          .job.rendezvous->port
        == 12'000);
}

TEST_CASE("slurm: a variable that cannot be is named if it is needed",
          "[cli]") {
  const auto broken = step_variables({{"SLURM_NODEID", "4"}});
  CHECK(refused({"train.py"}, broken)
        == "SLURM_NODEID of Slurm's step is \"4\"; give --nnodes and"
           " --rdzv-endpoint, or --standalone");
  CHECK(refused({"train.py"}, step_variables({{"SLURM_STEP_NODELIST", "n["}}))
          .starts_with("SLURM_STEP_NODELIST of Slurm's step is"));
  auto lacking = step_variables();
  lacking.erase("SLURM_STEP_NUM_NODES");
  CHECK(refused({"train.py"}, lacking)
          .starts_with("SLURM_STEP_NUM_NODES of Slurm's step is not set"));
  CHECK(!accepted({"--standalone", "train.py"}, broken).job.rendezvous);
}

TEST_CASE("slurm: a notice before the time limit is about the step", "[cli]") {
  using namespace std::chrono_literals;
  const auto line = words{"--notice-before=2m", "train.py"};
  const auto x = accepted(line, step_variables());
  REQUIRE(x.time_limit);
  CHECK(x.time_limit->job == "170");
  CHECK(x.time_limit->step == "2");
  CHECK(x.time_limit->node_rank == 1);
  CHECK(x.time_limit->before == 120s);
  CHECK(!accepted({"train.py"}, step_variables()).time_limit);
  CHECK(has(refused(line), "no step of Slurm"));
  // squeue takes the number of a task of an array for that of the array.
  auto of_array = step_variables();
  of_array["SLURM_ARRAY_JOB_ID"] = "168";
  of_array["SLURM_ARRAY_TASK_ID"] = "3";
  CHECK(accepted(line, of_array).time_limit->job == "168_3");
  of_array["SLURM_ARRAY_TASK_ID"] = "3;x";
  CHECK(accepted(line, of_array).time_limit->job == "170");
  // A variable may be there for all jobs.
  CHECK(!accepted({"train.py"}, {{"PET_NOTICE_BEFORE", "2m"}}).time_limit);
  // Those with safe points need no signal.
  CHECK(accepted({"--notice-before=2m", "--notice-signal=none", "train.py"},
                 step_variables())
          .time_limit);
  CHECK(has(refused({"--notice-before=0", "train.py"}, step_variables()),
            "--notice-before"));
}

TEST_CASE("slurm: U5 who waits for the other nodes of a step reads how not to",
          "[cli]") {
  const auto x = accepted({"--nproc-per-node=2", "x.py"}, step_variables());
  REQUIRE(x.notices.size() == 1);
  CHECK(has(x.notices.front(), "srun starts this on each; --standalone is for"
                               " one alone"));
}

TEST_CASE("slurm: U19 an address in the variable of aliases", "[cli]") {
  const auto text = "n1:10.0.0.1:host1,n2:[fd00::2]:host2,n3:n3:n3,n4,n5:n5.x";
  CHECK(address_in_aliases(text, "n1") == "10.0.0.1");
  CHECK(address_in_aliases(text, "n2") == "fd00::2");
  CHECK(address_in_aliases(text, "n5") == "n5.x");
  for (const auto* other : {"n3", "n4", "n6", "n", ""})
    CHECK_FALSE(address_in_aliases(text, other));
  CHECK_FALSE(address_in_aliases("", "n1"));
  CHECK_FALSE(address_in_aliases("n1:a b:c,n1:[x:y", "n1"));
}

TEST_CASE("slurm: U19 an address in what scontrol says", "[cli]") {
  const auto node = [](const std::string& address) {
    return "NodeName=n1 Arch=x86_64 CoresPerSocket=1 \n   NodeAddr=" + address
           + " NodeHostName=n1 Version=22.05.8\n";
  };
  CHECK(address_in_scontrol(node("10.0.0.1"), "n1") == "10.0.0.1");
  CHECK(address_in_scontrol(node("fd00::1"), "n1") == "fd00::1");
  CHECK(address_in_scontrol("NodeAddr=10.0.0.2", "n1") == "10.0.0.2");
  CHECK_FALSE(address_in_scontrol(node("n1"), "n1"));
  CHECK_FALSE(address_in_scontrol(node("a;b"), "n1"));
  CHECK_FALSE(address_in_scontrol("Node n1 not found", "n1"));
  CHECK_FALSE(address_in_scontrol("XNodeAddr=10.0.0.1", "n1"));
  CHECK_FALSE(address_in_scontrol("", "n1"));
}

} // namespace actorrun::test::slurm_step_test
