// Which programs are executed, with which environment, and what actorctl
// prints.
#include "tests/support/catch.hpp"
#include "tests/support/skip.hpp"
#include "tests/system/scene.hpp"

#include <csignal>
#include <set>

namespace actorrun::test::cli_test {

namespace {

bool has_python(scene& uut) {
  auto code = -1;
  uut.read({"python3", "-c", "pass"}, &code);
  if (code != 0)
    actorrun::test::skip("python3", "there is no python3");
  return code == 0;
}

std::map<std::string, std::string> variables_in(const std::string& text) {
  auto out = std::map<std::string, std::string>{};
  for (size_t i = 0; i < text.size();) {
    const auto line = text.substr(i, text.find('\0', i) - i);
    out[line.substr(0, line.find('='))] = line.substr(line.find('=') + 1);
    i += line.size() + 1;
  }
  return out;
}

} // namespace

TEST_CASE_METHOD(scene, "standalone: workers run and the job succeeds",
                 "[cli]") {
  auto& x = run({"--standalone", "--nproc-per-node=3", "--no-python", "sh",
                 "-c", "echo rank $RANK of $WORLD_SIZE"});
  CHECK(x.wait() == 0);
  for (const auto* line : {"rank 0 of 3\n", "rank 1 of 3\n", "rank 2 of 3\n"})
    CHECK(count_of(x.output(), line) == 1);
  CHECK(count_of(x.output(), "\n") == 3); // Success prints nothing more.
}

TEST_CASE_METHOD(scene,
                 "actorctl: U10 a name that no job has is shown, not obeyed",
                 "[cli]") {
  for (const auto* command : {"status", "top", "why", "journal", "replay",
                              "logs", "stacks", "stop", "restart"}) {
    CAPTURE(command);
    auto line = words{ACTORCTL_PROGRAM, command, "a\x1b[31mb\nc"};
    if (line[1] == "top")
      line.insert(line.begin() + 2, "--once");
    auto code = -1;
    const auto said = read(line, &code);
    CHECK(code != 0);
    CHECK(said.starts_with("actorctl: error: "));
    CHECK(count_of(said, "\x1b") == 0);
    CHECK(count_of(said, "\n") == 2); // The second line says what to try.
  }
}

TEST_CASE_METHOD(scene, "workers: their environment is torchrun's and no more",
                 "[cli]") {
  auto& x = run({"--nnodes=1", "--rdzv-id=mine", "--nproc-per-node=2",
                 "--max-restarts=4", "--role=trainer", "--no-python", "sh",
                 "-c", "cat /proc/self/environ > env.$RANK"},
                {{"COLOUR", "green"}});
  REQUIRE(x.wait() == 0);
  auto env = variables_in(content_of(folder() + "/env.1"));
  CHECK(env["COLOUR"] == "green");
  CHECK(env["RANK"] == "1");
  CHECK(env["LOCAL_RANK"] == "1");
  CHECK(env["WORLD_SIZE"] == "2");
  CHECK(env["LOCAL_WORLD_SIZE"] == "2");
  CHECK(env["GROUP_RANK"] == "0");
  CHECK(env["GROUP_WORLD_SIZE"] == "1");
  CHECK(env["ROLE_RANK"] == "1");
  CHECK(env["ROLE_WORLD_SIZE"] == "2");
  CHECK(env["ROLE_NAME"] == "trainer");
  CHECK(env["TORCHELASTIC_RESTART_COUNT"] == "0");
  CHECK(env["TORCHELASTIC_MAX_RESTARTS"] == "4");
  CHECK(env["TORCHELASTIC_RUN_ID"] == "mine");
  CHECK(env["TORCHELASTIC_USE_AGENT_STORE"] == "True");
  CHECK(env["TORCH_NCCL_ASYNC_ERROR_HANDLING"] == "1");
  CHECK(env["OMP_NUM_THREADS"] == "1");
  CHECK(env["ACTORRUN_GENERATION"] == "1");
  CHECK(env["ACTORRUN_JOB_ID"] == "mine");
  CHECK_FALSE(env["MASTER_ADDR"].empty());
  CHECK(std::stoi(env["MASTER_PORT"]) > 1023);
  CHECK(env["TORCHELASTIC_ERROR_FILE"].starts_with(folder() + "/tmp/"));
  CHECK(env["TORCHELASTIC_ERROR_FILE"].ends_with("/attempt_0/error_1.json"));
  CHECK(env["TORCHELASTIC_SIGNALS_TO_HANDLE"]
        == "SIGTERM,SIGINT,SIGHUP,SIGQUIT");
  CHECK(env["TORCHELASTIC_TIMER_FILE"].starts_with("/"));
  for (const auto* name : {"PWD", "OLDPWD", "_", "SHLVL"})
    env.erase(name); // Set by the shell.
  CHECK(env["ACTORRUN_CONTROL"].starts_with("/"));
  CHECK(env["ACTORRUN_STEPS"].starts_with("/"));
  CHECK(env["NCCL_RAS_ADDR"].starts_with("127.0.0.1:"));
  // 26 of the job, 5 of the scene and two of this test.
  CHECK(env.size() == 33);
}

TEST_CASE_METHOD(scene, "workers: three descriptors, their own session",
                 "[cli]") {
  auto& a = agent({.nodes = "1"});
  const auto all = await_world(2);
  for (const auto& x : all) {
    CHECK(x.descriptors == "0,1,2");
    CHECK(::getpgid(x.pid) == x.pid);
    CHECK(::getsid(x.pid) == x.pid);
  }
  order_end();
  CHECK(a.wait() == 0);
}

TEST_CASE_METHOD(scene, "script: Python runs it unbuffered, with its arguments",
                 "[cli]") {
  if (!has_python(*this))
    return;
  const auto script = write(
    "train.py", "import sys, os\n"
                "print('unbuffered', sys.stdout.write_through, flush=False)\n"
                "print('words', sys.argv[1:])\n");
  auto& x = run({"--standalone", script, "--nnodes=9", "rank-${local_rank}"});
  CHECK(x.wait() == 0);
  CHECK(count_of(x.output(), "unbuffered True") == 1);
  CHECK(count_of(x.output(), "words ['--nnodes=9', 'rank-0']") == 1);
}

TEST_CASE_METHOD(scene, "module: Python finds it", "[cli]") {
  if (!has_python(*this))
    return;
  write("trainer.py", "import sys\nprint('module', __name__, sys.argv[1:])\n");
  auto& x = run({"--standalone", "-m", "trainer", "fast"});
  CHECK(x.wait() == 0);
  CHECK(count_of(x.output(), "module __main__ ['fast']") == 1);
}

TEST_CASE_METHOD(scene, "script: a program runs by itself", "[cli]") {
  auto& x = run({"--standalone", "--nproc-per-node=2", "/bin/echo",
                 "local ${local_rank} $$5 $HOME"});
  CHECK(x.wait() == 0);
  CHECK(count_of(x.output(), "local 0 $5 $HOME\n") == 1);
  CHECK(count_of(x.output(), "local 1 $5 $HOME\n") == 1);
}

TEST_CASE_METHOD(
  scene,
  "options: PET_ variables replace options, the command line counts first",
  "[cli]") {
  const auto variables
    = std::map<std::string, std::string>{{"PET_NPROC_PER_NODE", "3"},
                                         {"PET_STANDALONE", "1"},
                                         {"PET_NO_PYTHON", "1"}};
  auto& x = run({"sh", "-c", "echo of $WORLD_SIZE"}, variables);
  CHECK(x.wait() == 0);
  CHECK(count_of(x.output(), "of 3\n") == 3);
  auto& y = run({"--nproc_per_node", "2", "sh", "-c", "echo of $WORLD_SIZE"},
                variables);
  CHECK(y.wait() == 0);
  CHECK(count_of(y.output(), "of 2\n") == 2);
}

TEST_CASE_METHOD(scene, "program: help and version succeed", "[cli]") {
  for (const auto* name : {ACTORRUN_PROGRAM, ACTORCTL_PROGRAM})
    for (const auto* option : {"--help", "--version"}) {
      auto code = -1;
      const auto text = read({name, option}, &code);
      CHECK(code == 0);
      CHECK_FALSE(text.empty());
    }
}

TEST_CASE_METHOD(scene, "status: without jobs it reports none", "[cli]") {
  auto code = -1;
  CHECK(read({ACTORCTL_PROGRAM, "status"}, &code) == "no jobs on this host\n");
  CHECK(code == 3);
  CHECK(status_of_all()["jobs"].empty());
  read({ACTORCTL_PROGRAM, "status", "ghost"}, &code);
  CHECK(code == 3);
  const auto text = read({ACTORCTL_PROGRAM, "status",
                          "--rdzv-endpoint=" + endpoint(), "--rdzv-id=x"},
                         &code);
  CHECK(code == 3);
  CHECK(count_of(text, endpoint()) >= 1);
  read({ACTORCTL_PROGRAM, "staus"}, &code);
  CHECK(code == 2);
}

TEST_CASE_METHOD(scene, "status: every number of a job, in JSON", "[cli]") {
  agent({.nodes = "2:3", .restart_count_max = 5});
  agent({.nodes = "2:3", .restart_count_max = 5, .slots = 1});
  const auto before = await_world(3);
  order_exit(before[0].pid, 8);
  const auto all = await_world(3, before[0].generation);
  const auto x = await_status([](const json& job) {
    return job["phase"] == "running" && job["restarts"] == 1;
  });
  CHECK(x["job"] == "job");
  CHECK(x["generation"] == all[0].number);
  CHECK(x["world_size"] == 3);
  CHECK(x["nodes_min"] == 2);
  CHECK(x["nodes_max"] == 3);
  CHECK(x["restarts_max"] == 5);
  CHECK(x["waiting_for"] == "");
  CHECK(x["master_port"] == all[0].master_port);
  CHECK(x["master_addr"] == all[0].master_address);
  CHECK(x["last_failure"]["kind"] == "exited");
  CHECK(x["last_failure"]["code"] == 8);
  CHECK(x["outcome"].is_null());
  auto pids = std::map<uint32_t, pid_t>{};
  for (const auto& node : x["agents"])
    for (const auto& worker : node["workers"])
      pids[worker["rank"]] = worker["pid"];
  REQUIRE(pids.size() == 3);
  for (const auto& worker : all)
    CHECK(pids[worker.rank] == worker.pid);
}

TEST_CASE_METHOD(scene, "status: the same for people, by name and by endpoint",
                 "[cli]") {
  agent({});
  REQUIRE(programs().front().says("listens on"));
  auto waits = std::string{};
  CHECK(eventually([&] {
    waits = read({ACTORCTL_PROGRAM, "status", "job"});
    return count_of(waits, "1 of 2 nodes are here") == 1;
  }));
  agent({});
  const auto all = await_world(4);
  auto text = std::string{};
  CHECK(eventually([&] {
    text = read({ACTORCTL_PROGRAM, "status"});
    return count_of(text,
                    "job job: running, generation 1, world size 4, nodes 2, "
                    "restarts 0 of 0\n")
           == 1;
  }));
  for (const auto& x : all)
    CHECK(count_of(text, std::to_string(x.pid)) >= 1);
  CHECK(read({ACTORCTL_PROGRAM, "status", "--rdzv-endpoint=" + endpoint(),
              "--rdzv-id=job"})
        == text);
}

TEST_CASE_METHOD(scene, "jobs: two on one host do not mix", "[cli]") {
  const auto other = "127.0.0.1:" + std::to_string(free_port());
  auto options = agent_options{.job = "one", .slots = 1};
  auto& a = agent(options);
  auto& b = agent(options);
  options.job = "two";
  options.endpoint = other;
  options.host = true;
  auto& c = agent(options);
  options.host = false;
  auto& d = agent(options);
  const auto workers = [&] {
    auto out = records();
    std::erase_if(out, [](const auto& x) { return x.kind != "worker"; });
    return out;
  };
  REQUIRE(eventually([&] { return workers().size() == 4; }));
  auto ports = std::map<std::string, std::set<uint16_t>>{};
  for (const auto& x : workers()) {
    CHECK(x.number == 1);
    CHECK(x.world_size == 2);
    ports[x.job].insert(x.master_port);
  }
  CHECK(ports["one"].size() == 1);
  CHECK(ports["two"].size() == 1);
  CHECK(ports["one"] != ports["two"]);
  CHECK(eventually([&] { return status_of_all()["jobs"].size() == 2; }));
  for (const auto& x : workers())
    if (x.job == "two" && x.rank == 0)
      order_exit(x.pid, 1);
  CHECK(c.wait() == 1);
  CHECK(d.wait() == 1);
  order_end();
  CHECK(a.wait() == 0);
  CHECK(b.wait() == 0);
}

} // namespace actorrun::test::cli_test
