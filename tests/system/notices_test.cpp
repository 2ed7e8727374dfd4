// Tests what says that a machine is about to go drains its node.
#include "tests/support/catch.hpp"
#include "tests/support/skip.hpp"
#include "tests/system/scene.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

namespace actorrun::test::notices_test {

namespace {

namespace fs = std::filesystem;

/// Saves on the notice signal and goes on; ends in order on SIGTERM.
constexpr auto saving_worker
  = "trap 'echo $RANK >> saved' USR1; trap 'exit 0' TERM;"
    " : > up-$ACTORRUN_GENERATION-$RANK;"
    " while :; do sleep 0.05; done";

/// Ends on the notice signal.
constexpr auto leaving_worker = "trap 'echo $RANK >> saved; exit 0' USR1;"
                                " : > up-$ACTORRUN_GENERATION-$RANK;"
                                " while :; do sleep 0.05; done";

struct notice_scene : scene {
  /// A node with one worker.
  program& node(words more = {}, const char* worker = leaving_worker,
                const std::string& nodes = "1:2") {
    return agent({.nodes = nodes,
                  .slots = 1,
                  .more = std::move(more),
                  .command = {"sh", "-c", worker}});
  }

  json await_nodes(uint32_t count) {
    return await_status([count](const json& x) {
      return x["phase"] == "running" && x["world_size"] == count;
    });
  }

  /// The workers of a generation have come so far that they take signals.
  void await_up(const json& status) {
    const auto generation
      = std::to_string(status["generation"].get<uint64_t>());
    for (auto rank = 0; rank < status["world_size"].get<int>(); ++rank)
      require(eventually([&] {
                return fs::exists(folder() + "/up-" + generation + "-"
                                  + std::to_string(rank));
              }),
              "all workers are up");
  }

  std::string text_of(const std::string& name) const {
    return content_of(folder() + "/" + name);
  }

  std::string control(words more) {
    more.insert(more.begin(), ACTORCTL_PROGRAM);
    return read(std::move(more));
  }
};

} // namespace

TEST_CASE_METHOD(notice_scene,
                 "notices: a command that ends with 0 drains the node, in its "
                 "words",
                 "[notices]") {
  node();
  auto& b
    = node({"--notice-command=while ! [ -e go ]; do sleep 0.05; done; echo "
            "no; echo 'spot: terminate at 12:02'; echo words >&2"});
  await_up(await_nodes(2));
  CHECK_FALSE(b.says("this machine is about to go", 300ms));
  write("go", "");
  CHECK(b.says("this machine is about to go: spot: terminate at 12:02"));
  CHECK(b.wait() == 0);
  CHECK(count_of(b.output(),
                 "left the job, as its machine is about to go: spot:"
                 " terminate at 12:02")
        == 1);
  const auto now = await_nodes(1);
  CHECK(now["restarts"] == 0);
  CHECK(text_of("saved") == "1\n");
  CHECK(count_of(control({"journal"}), "spot: terminate at 12:02") > 0);
  CHECK(count_of(control({"why"}), "(\"spot: terminate at 12:02\")") > 0);
}

TEST_CASE_METHOD(notice_scene,
                 "notices: a file drains the node when it appears or changes",
                 "[notices]") {
  const auto is_there = GENERATE(false, true);
  const auto path = folder() + "/going";
  if (is_there)
    write("going", "not yet\n");
  node();
  auto& b = node({"--notice-file=going"}); // From its working directory.
  await_up(await_nodes(2));
  CHECK_FALSE(b.says("this machine is about to go", 1'300ms));
  write("going", "the pod is deleted\nmore\n");
  CHECK(b.says("this machine is about to go: the pod is deleted"));
  CHECK(b.wait() == 0);
  CHECK(await_nodes(1)["restarts"] == 0);
}

TEST_CASE_METHOD(notice_scene, "notices: a folder that is missing is an error",
                 "[notices]") {
  auto& a = node({"--notice-file=" + folder() + "/none/going"});
  CHECK(a.wait() == 2);
  CHECK(count_of(a.output(), "the folder " + folder()
                               + "/none of the notice file"
                                 " going cannot be watched: No such file")
        == 1);
}

TEST_CASE_METHOD(
  notice_scene,
  "notices: where no other node can lead, the coordinator's node "
  "stays, and all save",
  "[notices]") {
  auto& a = node({"--notice-file=" + folder() + "/going"}, saving_worker);
  auto& b = node({}, saving_worker);
  const auto before = await_nodes(2);
  await_up(before);
  write("going", "maintenance\n");
  require(eventually([&] { return text_of("saved").size() == 4; }),
          "both workers save");
  CHECK(
    a.says("the workers are to save within 60.0 s, asked for by the notice"));
  CHECK(b.says("(\"maintenance\"): the workers get SIGUSR1"));
  CHECK(await_nodes(2)["generation"] == before["generation"]);
}

TEST_CASE_METHOD(notice_scene,
                 "notices: a command that fails costs the job nothing but one "
                 "warning",
                 "[notices]") {
  auto& a = agent({.nodes = "1",
                   .slots = 1,
                   .more = {"--notice-command=echo x >> tries; echo 'no route' "
                            ">&2; exit 7"},
                   .command = {"sh", "-c",
                               "until [ $(wc -l < tries) -ge 2 ];"
                               " do sleep 0.05; done 2>/dev/null"}});
  CHECK(a.wait() == 0);
  CHECK(count_of(a.output(),
                 "the notice command ended with code 7 (\"no route\");"
                 " it is started again in 1.0 s")
        == 1);
}

TEST_CASE_METHOD(notice_scene,
                 "notices: the command goes with all of its group when the "
                 "agent ends",
                 "[notices]") {
  const auto signal = GENERATE(SIGTERM, SIGKILL);
  const auto nodes = GENERATE(as<std::string>{}, "1", "1:2");
  auto& a
    = node({"--notice-command=trap '' TERM HUP; sleep 1000 & echo $$ $! > "
            "pids; wait"},
           saving_worker, nodes);
  await_up(await_nodes(1));
  auto leader = pid_t{0};
  auto child = pid_t{0};
  require(eventually([&] {
            return bool(std::ifstream{folder() + "/pids"} >> leader >> child);
          }),
          "the command runs");
  CHECK(alive(leader));
  a.signal(signal);
  a.wait();
  CHECK(eventually([&] { return !alive(leader) && !alive(child); }));
}

TEST_CASE_METHOD(notice_scene,
                 "notices: a worker saves before its child has to die",
                 "[notices]") {
  // The child is a data loader, without which nothing can be saved.
  constexpr auto worker = "sleep 1000 & child=$!;"
                          " trap 'sleep 0.1; kill -0 $child && echo $child > "
                          "saved; exit 0' TERM;"
                          " echo $$$$ $child > pids; while :; do sleep 0.05; "
                          "done"; // `$$` is one `$`.
  const auto is_stopped = GENERATE(false, true);
  auto& a = node({"--stop-scope=worker"}, worker, "1");
  auto leader = pid_t{0};
  auto child = pid_t{0};
  require(eventually([&] {
            return bool(std::ifstream{folder() + "/pids"} >> leader >> child);
          }),
          "the worker runs");
  if (is_stopped) // SIGCONT comes with the stop signal.
    ::kill(leader, SIGSTOP);
  a.signal(SIGTERM);
  CHECK(a.wait() == 128 + SIGTERM);
  CHECK(text_of("saved") == std::to_string(child) + "\n");
  CHECK(eventually([&] { return !alive(child); }));
}

// -- the examples --------------------------------------------------------------

TEST_CASE_METHOD(notice_scene,
                 "notices: the examples ask the clouds' metadata services",
                 "[notices]") {
  if (::system("command -v curl python3 >/dev/null") != 0)
    return skip("curl", "curl or python3 is missing");
  start({"python3", METADATA_SERVICE, folder()});
  require(eventually([&] { return !text_of("port").empty(); }),
          "the stand-in serves");
  struct row {
    const char* script;
    const char* file;
    const char* answer;
    const char* words;
  };
  const auto x = GENERATE(
    row{"aws-spot.sh", "aws-action",
        R"({"action":"terminate","time":"2026-01-01T00:00:00Z"})",
        R"(EC2 spot: {"action":"terminate","time":"2026-01-01T00:00:00Z"})"},
    row{"gcp.sh", "preempted", "", "Compute Engine: this machine is preempted"},
    row{"gcp.sh", "maintenance", "TERMINATE_ON_HOST_MAINTENANCE",
        "Compute Engine: maintenance-event TERMINATE_ON_HOST_MAINTENANCE"},
    row{
      "azure.sh", "azure",
      R"({"DocumentIncarnation":2,"Events":[{"EventId":"x","EventType":"Preempt",)"
      R"("Resources":["vm_1"],"NotBefore":"now"},{"EventId":"y",)"
      R"("EventType":"Reboot","Resources":["vm_0"],"NotBefore":"Tue, 01 Jan"}]})",
      "Azure: Reboot of vm_0, not before Tue, 01 Jan"});
  const auto server = "http://127.0.0.1:" + text_of("port");
  node();
  auto& b = agent(
    {.nodes = "1:2",
     .slots = 1,
     .more = {"--notice-command=exec sh " NOTICE_EXAMPLES "/"
              + std::string{x.script}},
     .command = {"sh", "-c", leaving_worker},
     .environment = {{"METADATA_SERVER", server}, {"POLL_SECONDS", "1"}}});
  await_up(await_nodes(2));
  write("aws-expire", ""); // It needs another token then.
  CHECK_FALSE(b.says("notice command", 2'500ms));
  CHECK(b.running());
  write(x.file, x.answer);
  CHECK(b.says("this machine is about to go: " + std::string{x.words}));
  CHECK(b.wait() == 0);
  CHECK(text_of("refused") == "");
}

TEST_CASE_METHOD(notice_scene, "notices: the hook of a pod waits for its node",
                 "[notices]") {
  node();
  const auto path = folder() + "/going";
  auto& b = node({"--notice-file=" + path});
  await_up(await_nodes(2));
  auto& hook = start({"sh", NOTICE_EXAMPLES "/prestop.sh", path, "60"},
                     {{"HOSTNAME", "train-1"}});
  CHECK(b.says("this machine is about to go: the pod train-1 is deleted"));
  CHECK(b.wait() == 0);
  CHECK(hook.running());
}

TEST_CASE_METHOD(notice_scene, "notices: a batch script has all workers save",
                 "[notices]") {
  write("srun", "#!/bin/sh\nexec \"$@\"\n", true);
  const auto path = folder() + ":"
                    + fs::path{ACTORRUN_PROGRAM}.parent_path().string() + ":"
                    + environment().at("PATH");
  auto& batch
    = start({"sh", NOTICE_EXAMPLES "/slurm.sh", "--no-python", "sh", "-c",
             "trap 'echo saved > saved; exit 0' USR1; : > up;"
             " while :; do sleep 0.05; done"},
            {{"SLURM_JOB_ID", "7"}, {"TMPDIR", folder()}, {"PATH", path}});
  require(eventually([&] { return fs::exists(folder() + "/up"); }),
          "the worker runs");
  batch.signal(SIGUSR1);
  CHECK(batch.says("this machine is about to go: Slurm is about to end job 7"));
  CHECK(batch.wait() == 0);
  CHECK(text_of("saved") == "saved\n");
  CHECK_FALSE(fs::exists(folder() + "/going.7"));
}

} // namespace actorrun::test::notices_test
