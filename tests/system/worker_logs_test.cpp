// Tests what actorctl shows of workers' log files and of where workers are.
#include "tests/support/catch.hpp"
#include "tests/system/log_scene.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

namespace actorrun::test::worker_logs_test {

namespace {

/// A node of a job of two nodes, whose workers run a script of the shell.
program& node_of_two(scene& here, const std::string& script,
                     const words& more = {"-r3"}) {
  const auto is_first = here.programs().empty();
  auto line
    = words{"--nnodes=2",
            "--nproc-per-node=2",
            "--rdzv-id=job",
            "--rdzv-endpoint=" + here.endpoint(),
            std::string{"--rdzv-conf=is_host="} + (is_first ? "1" : "0"),
            "--log-dir=" + here.folder() + "/logs"};
  line.insert(line.end(), more.begin(), more.end());
  for (const auto& word : {"--no-python", "sh", "-c", script.c_str()})
    line.emplace_back(word);
  return here.run(std::move(line));
}

/// Waits until a command prints this.
std::string await_output(scene& here, const words& command,
                         const std::string& wanted) {
  auto last = std::string{};
  const auto is_there = [&] {
    last = here.read(command);
    return last.find(wanted) != last.npos;
  };
  scene::require(eventually(is_there), wanted + " is in: " + last);
  return last;
}

constexpr auto speak = "echo out $RANK; echo err $RANK >&2; exec sleep 1000";

} // namespace

TEST_CASE_METHOD(log_scene, "actorctl logs: by rank, output and expression",
                 "[logs]") {
  auto& x = job({"-r3", "--log-dir=" + logs()},
                "for i in 1 2 3; do echo out $i of $RANK; done;"
                "echo err $RANK >&2; exec sleep 1000",
                2);
  await_output(*this, {ACTORCTL_PROGRAM, "logs", "--stderr"}, "err 1");
  CHECK(read({ACTORCTL_PROGRAM, "logs", "--stdout", "--rank=1"})
        == "[rank1]:out 1 of 1\n[rank1]:out 2 of 1\n[rank1]:out 3 of 1\n");
  CHECK(read({ACTORCTL_PROGRAM, "logs", "--tail=1", "job"})
        == "[rank0]:out 3 of 0\n[rank0]:err 0\n"
           "[rank1]:out 3 of 1\n[rank1]:err 1\n");
  CHECK(read({ACTORCTL_PROGRAM, "logs", "--grep=2 of|err", "--rank=0"})
        == "[rank0]:out 2 of 0\n[rank0]:err 0\n");
  auto code = 0;
  CHECK(read({ACTORCTL_PROGRAM, "logs", "--rank=2"}, &code)
        == "actorctl: error: the job has no rank 2: its ranks are 0-1\n");
  CHECK(code == 1);
  CHECK(read({ACTORCTL_PROGRAM, "logs", "--previous"}, &code)
          .find("no generation before this one is known")
        != std::string::npos);
  CHECK(code == 0);
  CHECK(read({ACTORCTL_PROGRAM, "logs", "--grep=none of these"}, &code)
        == "actorctl: note: the workers have written no line that the options"
           " ask for\n");
  CHECK(code == 0);
  read({ACTORCTL_PROGRAM, "logs", "no-such-job"}, &code);
  CHECK(code == 3);
  read({ACTORCTL_PROGRAM, "logs", "--grep=("}, &code);
  CHECK(code == 2);
  x.signal(SIGTERM);
  x.wait();
}

TEST_CASE_METHOD(log_scene,
                 "actorctl logs: a reader that was stopped when the job ended "
                 "is told so",
                 "[logs]") {
  const auto script = "echo begins; while [ ! -e " + folder()
                      + "/go ]; do sleep 0.02; done; seq 1 4000000";
  auto& x = job({"-r3", "--log-dir=" + logs()}, script, 1);
  await_output(*this, {ACTORCTL_PROGRAM, "logs"}, "begins");
  auto& follower = start({ACTORCTL_PROGRAM, "logs", "-f"});
  require(follower.says("begins"), "it reads");
  follower.signal(SIGSTOP);
  write("go", "");
  CHECK(x.wait() == 0);
  follower.signal(SIGCONT);
  CHECK(follower.wait() == 0);
  CHECK(count_of(follower.output(), "the job ended before ") == 1);
}

TEST_CASE_METHOD(log_scene,
                 "actorctl logs: without log files it says what makes "
                 "them",
                 "[logs]") {
  auto& x = job({}, "echo $RANK is there; exec sleep 1000", 1);
  scene::require(x.says("0 is there"), "the worker runs");
  const auto text = read({ACTORCTL_PROGRAM, "logs", "-f"});
  CHECK(text.find("the output of rank 0 goes to the console") != text.npos);
  CHECK(text.find("-t 3 (--tee)") != text.npos);
  x.signal(SIGTERM);
  x.wait();
}

TEST_CASE_METHOD(log_scene, "actorctl logs: all nodes, from one without a job",
                 "[logs]") {
  node_of_two(*this, speak);
  auto& second = node_of_two(*this, speak);
  const auto remote = words{ACTORCTL_PROGRAM, "logs",
                            "--rdzv-endpoint=" + endpoint(), "--rdzv-id=job"};
  const auto all
    = words{"[rank0]:err 0", "[rank0]:out 0", "[rank1]:err 1", "[rank1]:out 1",
            "[rank2]:err 2", "[rank2]:out 2", "[rank3]:err 3", "[rank3]:out 3"};
  auto last = std::string{};
  const auto is_all = [&] {
    last = read(remote);
    return sorted_lines(last) == all;
  };
  CHECK(eventually(is_all));
  INFO(last);
  auto by_node = remote;
  by_node.insert(by_node.end(), {"--node=1", "--stdout"});
  CHECK(sorted_lines(read(by_node)).size() == 2);
  // An agent passes it on to the coordinator (P6).
  const auto by_agent = read(
    {ACTORCTL_PROGRAM, "logs", "--stdout", std::to_string(second.pid())});
  CHECK(sorted_lines(by_agent)
        == words{"[rank0]:out 0", "[rank1]:out 1", "[rank2]:out 2",
                 "[rank3]:out 3"});
  for (auto& x : programs())
    x.signal(SIGTERM);
  for (auto& x : programs())
    x.wait();
}

TEST_CASE_METHOD(log_scene,
                 "actorctl logs: those of a job that has ended, and where they "
                 "are (P3, P4)",
                 "[logs]") {
  // None ends before both have written.
  const auto script
    = "echo attempt $TORCHELASTIC_RESTART_COUNT of $RANK;"
      "echo err >&2; up=up-$TORCHELASTIC_RESTART_COUNT;"
      ": > $up-$RANK;"
      "while [ ! -e $up-0 ] || [ ! -e $up-1 ]; do sleep 0.01; done;"
      "exit 3";
  auto& x
    = job({"-r3", "--log-dir=" + logs(), "--rdzv-id=old", "--max-restarts=1"},
          script, 2);
  CHECK(x.wait() == 1);
  auto code = -1;
  const auto actorctl = [&](words more) {
    more.insert(more.begin(), ACTORCTL_PROGRAM);
    return read(std::move(more), &code);
  };
  auto text = actorctl({"logs", "--stdout", "old"});
  CHECK(code == 0);
  CHECK(count_of(text, "job old does not run on this host any more: this is "
                       "its generation 2 from the files in ")
        == 1);
  CHECK(count_of(text, "[rank0]:attempt 1 of 0\n[rank1]:attempt 1 of 1\n")
        == 1);
  text = actorctl({"logs", "--stdout", "--previous", "--rank=1", "old"});
  CHECK(count_of(text, "[rank1]:attempt 0 of 1\n") == 1);
  CHECK(count_of(text, "[rank0]") == 0);
  actorctl({"logs", "--rank=2", "old"});
  CHECK(code == 1);
  // Without a name it is the last one.
  CHECK(count_of(actorctl({"logs", "--tail=1"}), "[rank1]:err\n") == 1);
  text = actorctl({"logs", "-f", "old"});
  CHECK(code == 0);
  CHECK(count_of(text, "so nothing follows") == 1);
  const auto runs = runs_in(logs());
  REQUIRE(runs.size() == 1);
  for (const auto& command :
       {words{"why", "old"}, words{"status", "old"},
        words{"why", "--json", "old"}, words{"status", "--json", "old"}}) {
    INFO(command.front());
    CHECK(count_of(actorctl(command), runs.front()) > 0);
  }
  actorctl({"logs", "older"});
  CHECK(code == 3);
}

TEST_CASE_METHOD(log_scene, "actorctl bundle: one file tells of a job (P7)",
                 "[logs]") {
  auto& x = job({"-r3", "--log-dir=" + logs(), "--rdzv-id=old"},
                "echo my password=x; exit 3", 1);
  CHECK(x.wait() == 1);
  auto code = -1;
  const auto said
    = read({ACTORCTL_PROGRAM, "bundle", "--output=b.tgz", "old"}, &code);
  CHECK(code == 0);
  CHECK(count_of(said, "wrote b.tgz (") == 1);
  const auto in = [&](const std::string& name) {
    return read({"tar", "-xzOf", "b.tgz", "--wildcards", "*/" + name});
  };
  const auto readme = in("README.txt");
  for (const auto* name : {"why.txt", "journal.txt", "journal-1.jsonl",
                           "status.json", "logs.txt", "host.txt"})
    CHECK(count_of(readme, std::string{"  "} + name + " ") == 1);
  CHECK(count_of(in("why.txt"), "exited with code 3") > 0);
  CHECK(count_of(in("logs.txt"), "[rank0]:my password=x\n") == 1);
  // It replaces no file, and leaves none behind that is not whole.
  read({ACTORCTL_PROGRAM, "bundle", "--output=b.tgz", "old"}, &code);
  CHECK(code == 6);
  read({ACTORCTL_PROGRAM, "bundle", "--output=c.tgz", "older"}, &code);
  CHECK(code == 3);
  CHECK_FALSE(std::filesystem::exists(folder() + "/c.tgz"));
}

TEST_CASE_METHOD(
  log_scene, "actorctl logs: follows into the next generation and to the end",
  "[logs]") {
  const auto script = "echo generation $TORCHELASTIC_RESTART_COUNT of $RANK;"
                      "while [ ! -e "
                      + folder()
                      + "/go$TORCHELASTIC_RESTART_COUNT ]; do "
                        "sleep 0.02; done; echo last words of $RANK;"
                        "exit $((1 - TORCHELASTIC_RESTART_COUNT))";
  auto& x = job({"-r3", "--max-restarts=1", "--log-dir=" + logs()}, script, 2);
  await_output(*this, {ACTORCTL_PROGRAM, "logs"}, "generation 0 of 1");
  auto& follower = start({ACTORCTL_PROGRAM, "logs", "-f"});
  require(follower.says("generation 0 of 1"), "it shows what was there");
  write("go0", "");
  require(follower.says("generation 1 of 1"), "it shows the next generation");
  write("go1", "");
  CHECK(x.wait() == 0);
  CHECK(follower.wait() == 0);
  CHECK(count_of(follower.output(), "last words of 0") >= 1);
  CHECK(count_of(follower.output(), "last words of 1") >= 1);
}

TEST_CASE_METHOD(log_scene,
                 "actorctl logs: goes on with the successor of a coordinator",
                 "[logs]") {
  const auto options = agent_options{.nodes = "1"};
  auto& first = coordinator(options);
  run({"--nnodes=1", "--rdzv-id=job", "--rdzv-endpoint=" + endpoint(),
       "--rdzv-conf=is_host=0", "-r3", "--log-dir=" + logs(), "--no-python",
       "sh", "-c",
       "i=0; while sleep 0.02; do i=$((i + 1)); echo line $i; done"});
  const auto remote = words{"--rdzv-endpoint=" + endpoint(), "--rdzv-id=job"};
  auto ask = words{ACTORCTL_PROGRAM, "logs"};
  ask.insert(ask.end(), remote.begin(), remote.end());
  await_output(*this, ask, "line 1");
  ask.insert(ask.end(), {"-f", "--tail=1"});
  auto& follower = start(ask);
  require(follower.says("[rank0]:line "), "it reads");
  first.signal(SIGKILL);
  first.wait();
  require(follower.says("it is looked for again"), "the coordinator is missed");
  coordinator(options);
  require(follower.says("the job is back"), "its successor is found");
  const auto count = count_of(follower.output(), "[rank0]:line ");
  CHECK(eventually(
    [&] { return count_of(follower.output(), "[rank0]:line ") > count; }));
  follower.signal(SIGTERM);
  CHECK(follower.wait() == 0);
}

TEST_CASE_METHOD(
  log_scene,
  "actorctl logs: a node that was silent has no lines of the generation "
  "without it (P4)",
  "[logs]") {
  const auto options = agent_options{
    .nodes = "1:2",
    .more = {"-r3", "--log-dir=" + logs()},
    .command = {"sh", "-c", "echo world $WORLD_SIZE; exec sleep 1000"}};
  agent(options);
  auto& second = agent(options);
  const auto await_lines = [&](const words& expected) {
    auto last = std::string{};
    const auto are_there = [&] {
      last = read({ACTORCTL_PROGRAM, "logs"});
      return sorted_lines(last) == expected;
    };
    scene::require(eventually(are_there), "the lines become: " + last);
  };
  const auto all = words{"[rank0]:world 4", "[rank1]:world 4",
                         "[rank2]:world 4", "[rank3]:world 4"};
  await_lines(all);
  second.signal(SIGSTOP);
  // While it is stopped, actorctl would wait for its answers.
  const auto smaller_worlds = [this] {
    auto count = 0;
    for (const auto& x : std::filesystem::recursive_directory_iterator{logs()})
      count += x.is_regular_file() && content_of(x.path()) == "world 2\n";
    return count;
  };
  require(eventually([&] { return smaller_worlds() == 2; }),
          "the other node goes on");
  second.signal(SIGCONT);
  await_lines(all);
  const auto text = read({ACTORCTL_PROGRAM, "logs", "--previous"});
  CHECK(count_of(text, "[rank") == 2);
  CHECK(count_of(text, "[rank0]:world 2\n") == 1);
  CHECK(count_of(text, "[rank1]:world 2\n") == 1);
  CHECK(count_of(text, ", the job's previous one, was started here") == 1);
  for (auto& x : programs())
    x.signal(SIGTERM);
  for (auto& x : programs())
    x.wait();
}

TEST_CASE_METHOD(log_scene, "actorctl logs: a name or reason is text",
                 "[logs]") {
  for (const auto& command :
       {words{"drain", "n\xff"}, words{"restart", "--reason=x\xff"},
        words{"loglevel", "info", "--node=n\xff"},
        words{"logs", "--node=n\xff"}}) {
    auto all = command;
    all.insert(all.begin(), ACTORCTL_PROGRAM);
    auto& x = start(std::move(all));
    CHECK(x.wait() == 2);
    CHECK(count_of(x.output(), "is not valid UTF-8") == 1);
  }
}

TEST_CASE_METHOD(log_scene,
                 "actorctl logs: a signal ends it, and a reader that is "
                 "stopped holds up nothing",
                 "[logs]") {
  auto& x = job({"-r3", "--log-dir=" + logs()},
                "yes 'one line of many that are never read' | head -c 50000000;"
                "exec sleep 1000",
                1);
  await_output(*this, {ACTORCTL_PROGRAM, "logs", "--tail=1"}, "one line");
  auto& stopped = start({ACTORCTL_PROGRAM, "logs", "-f"});
  require(stopped.says("one line"), "it reads");
  stopped.signal(SIGSTOP);
  // The last line has no end yet.
  auto& other = start({ACTORCTL_PROGRAM, "logs", "-f", "--tail=2"});
  require(other.says("one line"), "another one reads");
  other.signal(SIGINT);
  CHECK(other.wait() == 0);
  CHECK(status()["phase"] == "running");
  x.signal(SIGTERM);
  CHECK(x.wait() == 128 + SIGTERM);
  stopped.signal(SIGCONT);
  CHECK(stopped.wait() == 0);
}

TEST_CASE_METHOD(log_scene, "actorctl stacks: names the odd one out",
                 "[logs]") {
  auto& x = job({"-r3", "--log-dir=" + logs()},
                "if [ $RANK = 2 ]; then while :; do :; done; fi;"
                "exec sleep 1000");
  const auto text = await_output(*this, {ACTORCTL_PROGRAM, "stacks"},
                                 "rank 2 is the odd one");
  CHECK(text.find("ranks 0-1,3 in ") != text.npos);
  // Those that are equal are shown once.
  CHECK(text.find("\nranks 0-1,3: 3 equal stacks, ") != text.npos);
  CHECK(text.find("\nrank 2 (local rank 2, pid ") != text.npos);
  auto code = 0;
  const auto one = json::parse(
    read({ACTORCTL_PROGRAM, "stacks", "--json", "--rank=2"}, &code));
  CHECK(code == 0);
  REQUIRE(one["workers"].size() == 1);
  CHECK(one["workers"][0]["frames"][0] == "running");
  CHECK(read({ACTORCTL_PROGRAM, "stacks", "--rank=4"}, &code)
        == "actorctl: error: the job has no rank 4: its ranks are 0-3\n");
  CHECK(code == 1);
  x.signal(SIGTERM);
  x.wait();
}

} // namespace actorrun::test::worker_logs_test
