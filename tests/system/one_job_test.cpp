// One job is one job: what a node alone, a spare node and a node that waits for
// others say and do (decision 0050).
#include "tests/support/catch.hpp"
#include "tests/system/scene.hpp"

#include <csignal>
#include <filesystem>
#include <map>
#include <string>

#include <unistd.h>

namespace actorrun::test::one_job_test {

namespace {

std::string own_name() {
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  return name;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE_METHOD(scene,
                 "one job: U1 U6 one node runs at once, whatever it meets at",
                 "[habits]") {
  const auto port = std::to_string(this->port());
  for (const auto& host : {std::string{"0.0.0.0"}, std::string{"[::]"},
                           std::string{"localhost"}, own_name()})
    for (const auto* backend : {"c10d", "static"}) {
      auto& x = run({"--nnodes=1", "--nproc_per_node=2",
                     std::string{"--rdzv_backend="} + backend,
                     "--rdzv-endpoint=" + host + ":" + port, "--no-python",
                     "sh", "-c", "echo $RANK of $WORLD_SIZE"});
      INFO(host << " " << backend);
      CHECK(x.wait() == 0);
      const auto out = x.output();
      // Not a word of secrets, of others, or of an earlier coordinator.
      CHECK((out == "0 of 2\n1 of 2\n" || out == "1 of 2\n0 of 2\n"));
    }
}

TEST_CASE_METHOD(scene, "one job: U2 a second one beside it is a second job",
                 "[habits]") {
  const auto line = [&](const std::string& name) {
    return words{"--nnodes=1",
                 "--rdzv_backend=c10d",
                 "--rdzv-id=same",
                 "--rdzv_endpoint=" + endpoint(),
                 "--no-python",
                 "sh",
                 "-c",
                 "echo $TORCHELASTIC_RUN_ID; touch " + name
                   + "; while ! test -e go; do sleep 0.02; done; exit "
                   + (name == "a" ? "1" : "0")};
  };
  auto& a = run(line("a"));
  auto& b = run(line("b"));
  const auto is_there = [&](const std::string& name) {
    return std::filesystem::exists(folder() + "/" + name);
  };
  REQUIRE(eventually([&] { return is_there("a") && is_there("b"); }));
  CHECK(::system(("touch " + folder() + "/go").c_str()) == 0);
  CHECK(a.wait() == 1);
  CHECK(b.wait() == 0);
  CHECK(has(b.output(), "same"));
}

TEST_CASE_METHOD(
  scene,
  "one job: U2 who stood by to the end says so, with a code of its"
  " own",
  "[habits]") {
  coordinator({.nodes = "1"});
  auto& first = agent(
    {.nodes = "1",
     .command
     = {"sh", "-c", "touch runs; while ! test -e go; do sleep 0.02; done"}});
  REQUIRE(
    eventually([&] { return std::filesystem::exists(folder() + "/runs"); }));
  auto& second = agent({.nodes = "1", .command = {"touch", "second"}});
  CHECK(second.says("this one stands by"));
  CHECK(::system(("touch " + folder() + "/go").c_str()) == 0);
  CHECK(first.wait() == 0);
  CHECK(second.wait() == 8);
  CHECK(
    has(second.output(),
        "the job has succeeded, and this node stood by: nothing was run here"));
  CHECK_FALSE(std::filesystem::exists(folder() + "/second"));
}

TEST_CASE_METHOD(scene,
                 "one job: U4 who waits says for whom and how long, at the own"
                 " name of the host as well",
                 "[habits]") {
  const auto at = own_name() + ":" + std::to_string(port());
  auto& x = run({"--nnodes=2", "--rdzv-id=job", "--rdzv-endpoint=" + at,
                 "--rdzv-conf=is_host=1", "--no-python", "true"});
  // A coordinator before it may have had agents …
  CHECK(
    x.says("listening for agents of an earlier coordinator: 1 of 2 nodes are"
           " here ("));
  // … and when none has come, it is said what is missing.
  CHECK(
    x.says("coordinator: waiting for 1 more node: 1 of 2 nodes are here ("));
  CHECK(has(x.output(), " at most)"));
  x.signal(SIGTERM);
  CHECK(x.wait() == 143);
}

TEST_CASE_METHOD(scene,
                 "one job: U4 a node that is lost is waited for in words",
                 "[habits]") {
  auto& a = agent({.host = true});
  auto& b = agent({});
  await_world(4);
  b.signal(SIGKILL);
  CHECK(
    a.says("coordinator: waiting for 1 more node: 1 of 2 nodes are here ("));
}

TEST_CASE_METHOD(scene,
                 "one job: U4 a coordinator that says nothing is named soon",
                 "[habits]") {
  // TEST-NET-1 (RFC 5737): nothing answers there, or the system says at once that
  // there is no way.
  auto& x
    = run({"--nnodes=2", "--rdzv-id=job", "--rdzv-endpoint=192.0.2.1:29400",
           "--rdzv-conf=read_timeout=30s", "--no-python", "true"});
  CHECK(x.says("no coordinator yet"));
  CHECK(x.says("192.0.2.1:29400"));
  x.signal(SIGTERM);
  CHECK(x.wait() == 143);
}

TEST_CASE_METHOD(scene,
                 "one job: U5 a shell in a step of Slurm reads what it waits"
                 " for",
                 "[habits]") {
  auto& x = run({"--nproc-per-node=2", "--no-python", "true"},
                {{"SLURM_JOB_ID", "170"},
                 {"SLURM_STEP_ID", "0"},
                 {"SLURM_STEP_NUM_NODES", "2"},
                 {"SLURM_STEP_NUM_TASKS", "2"},
                 {"SLURM_NODEID", "0"},
                 {"SLURM_STEP_NODELIST", own_name() + ",n2"},
                 {"SLURM_STEP_RESV_PORTS", std::to_string(port())}});
  CHECK(x.says("--standalone is for one alone"));
  CHECK(x.says("waiting for 1 more node: 1 of 2 nodes are here"));
  x.signal(SIGTERM);
  CHECK(x.wait() == 143);
}

TEST_CASE_METHOD(scene,
                 "one job: U19 an address that only Slurm knows is asked for",
                 "[habits]") {
  std::filesystem::create_directory(folder() + "/bin");
  write("bin/scontrol",
        "#!/bin/sh\necho \"$@\" > " + folder()
          + "/asked\necho NodeName=nowhere NodeAddr=127.0.0.1 State=MIXED\n",
        true);
  const auto step = [&](const std::string& rank) {
    return std::map<std::string, std::string>{
      {"PATH", folder() + "/bin:/usr/local/bin:/usr/bin:/bin"},
      {"SLURM_JOB_ID", "170"},
      {"SLURM_STEP_ID", "0"},
      {"SLURM_STEP_NUM_NODES", "2"},
      {"SLURM_STEP_NUM_TASKS", "2"},
      {"SLURM_NODEID", rank},
      {"SLURM_STEP_NODELIST", "nowhere-of-slurm.invalid,n2.invalid"},
      {"SLURM_STEP_RESV_PORTS", std::to_string(port())}};
  };
  auto& a = run({"--no-python", "true"}, step("0"));
  auto& b = run({"--no-python", "true"}, step("1"));
  CHECK(a.wait() == 0);
  CHECK(b.wait() == 0);
  CHECK(has(b.output(),
            "nowhere-of-slurm.invalid has no address here, and Slurm"
            " knows it as 127.0.0.1"));
  CHECK(content_of(folder() + "/asked")
        == "--oneliner show node nowhere-of-slurm.invalid\n");
}

TEST_CASE_METHOD(
  scene, "one job: U3 localhost on node 0 is met at another address of it",
  "[habits]") {
  const auto port = std::to_string(this->port());
  const auto print
    = words{"--no-python", "sh", "-c", "echo $RANK at $MASTER_ADDR"};
  const auto meet = [&](words first, words second) {
    first.insert(first.end(), print.begin(), print.end());
    second.insert(second.end(), print.begin(), print.end());
    auto& a = run(first);
    auto& b = run(second);
    CHECK(a.wait() == 0);
    CHECK(b.wait() == 0);
    const auto begin = a.output().find("0 at ");
    REQUIRE(begin != std::string::npos);
    auto master = a.output().substr(begin + 5);
    master.resize(master.find('\n'));
    CHECK(master != "localhost"); // Which is another host on each.
    CHECK(has(b.output(), "1 at " + master + "\n"));
    CHECK(
      has(a.output(), "localhost stands for all addresses of this host; others"
                      " reach it at "
                        + master + ":" + port));
  };
  SECTION("by c10d") {
    meet({"--nnodes=2", "--rdzv-id=j", "--rdzv_endpoint=localhost:" + port},
         {"--nnodes=2", "--rdzv-id=j", "--rdzv_endpoint=127.0.0.2:" + port,
          "--rdzv-conf=is_host=0"});
  }
  SECTION("by static") {
    meet({"--nnodes=2", "--node_rank=0", "--master_addr=localhost",
          "--master_port=" + port},
         {"--nnodes=2", "--node_rank=1", "--master_addr=127.0.0.2",
          "--master_port=" + port});
  }
}

TEST_CASE_METHOD(scene, "one job: U3 what no other host can reach is said",
                 "[habits]") {
  auto& a = run({"--nnodes=2", "--rdzv-id=j", "--rdzv-endpoint=" + endpoint(),
                 "--no-python", "true"});
  CHECK(
    a.says("listens on " + endpoint() + ", where no other host can reach it"));
  a.signal(SIGTERM);
  CHECK(a.wait() == 143);
  auto& b
    = run({"--nnodes=2", "--node-rank=1", "--master-addr=127.0.0.1",
           "--master-port=" + std::to_string(port()), "--no-python", "true"});
  CHECK(b.says("that is this host, and others are not found there"));
  b.signal(SIGTERM);
  CHECK(b.wait() == 143);
}

} // namespace actorrun::test::one_job_test
