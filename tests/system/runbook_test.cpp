// Tests that the commands of docs/runbook.md tell what it says, in jobs that are in these
// states.
#include "tests/support/catch.hpp"
#include "tests/support/skip.hpp"
#include "tests/system/scene.hpp"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include <sys/stat.h>
#include <unistd.h>

namespace actorrun::test::runbook_test {

namespace {

namespace fs = std::filesystem;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// The commands that the page shows, by section.
std::map<std::string, std::vector<words>> commands_of_page() {
  auto file = std::ifstream{DOCS_FOLDER "/runbook.md"};
  REQUIRE(file);
  auto out = std::map<std::string, std::vector<words>>{};
  auto section = std::string{};
  for (auto line = std::string{}; std::getline(file, line);) {
    if (line.starts_with("## "))
      section = line.substr(3);
    const auto prompt = line.find("$ actorctl ");
    if (!line.starts_with("    n") || prompt == line.npos)
      continue;
    auto stream = std::istringstream{line.substr(prompt + 2)};
    auto& command = out[section].emplace_back();
    for (auto word = std::string{}; stream >> word;)
      command.push_back(word);
  }
  return out;
}

struct runbook_scene : scene {
  /// A node of the page's job.
  program& node(agent_options x, const std::string& script) {
    x.job = "train";
    x.command = {"sh", "-c", script};
    return agent(x);
  }

  /// What a command of the page prints, with other words for some of its words.
  std::string told(const std::string& section, size_t index,
                   const std::map<std::string, std::string>& instead = {}) {
    auto command = page.at(section).at(index);
    command[0] = ACTORCTL_PROGRAM;
    for (auto& word : command)
      if (const auto i = instead.find(word); i != instead.end())
        word = i->second;
    auto out = read(command);
    said = out;
    return out;
  }

  /// Waits until it says that.
  void await_told(const std::string& section, size_t index,
                  const std::string& what) {
    const auto is_told
      = eventually([&] { return contains(told(section, index), what); });
    INFO(said);
    INFO(what);
    REQUIRE(is_told);
  }

  void await_running(size_t world_size) {
    await_status([&](const json& x) {
      return x["phase"] == "running" && x["world_size"] == world_size;
    });
  }

  void end() {
    for (auto& x : programs())
      x.signal(SIGTERM);
  }

  std::map<std::string, std::vector<words>> page = commands_of_page();
  std::string said; ///< By the last command.
};

constexpr auto sleeper = "exec sleep 600";

/// A group of processes that may have 300 MiB of memory; none where this test may
/// not make one (cgroups(7)).
class memory_group {
public:
  memory_group() {
    const auto base = fs::path{"/sys/fs/cgroup"};
    // The second is what version 2 has; processes are only in its leaves, so the
    // group is made beside that of the test.
    for (const auto& [folder, limit] :
         {std::pair{base / "memory", "memory.limit_in_bytes"},
          std::pair{base, "memory.max"}}) {
      const auto path = folder / ("actorrun-" + std::to_string(::getpid()));
      auto ignored = std::error_code{};
      if (!fs::create_directory(path, ignored))
        continue;
      path_ = path;
      if (std::ofstream{path / limit} << "314572800" << std::flush)
        return;
      leave();
    }
  }

  memory_group(const memory_group&) = delete;
  memory_group& operator=(const memory_group&) = delete;

  ~memory_group() { leave(); }

  explicit operator bool() const { return !path_.empty(); }

  /// Words in front of a program that is to be in it.
  words prefix() const {
    return {"sh", "-c",
            "echo $$ > " + (path_ / "cgroup.procs").string() + "; exec \"$@\"",
            "sh"};
  }

private:
  void leave() {
    if (!path_.empty())
      ::rmdir(path_.c_str());
    path_.clear();
  }

  fs::path path_;
};

} // namespace

TEST_CASE_METHOD(runbook_scene, "runbook: one worker hangs", "[runbook]") {
  const auto* section = "One worker hangs";
  // The others wait for it in another way than it sleeps.
  const auto script = "[ $RANK != 3 ] || exec sleep 600; read x < "
                      + write("start", "") + ".fifo";
  const auto fifo = folder() + "/start.fifo";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  node({}, script);
  node({}, script);
  await_running(4);
  await_told(section, 0, "rank 3 is the odd one out");
  CHECK(contains(said, "ranks 0-2: 3 equal stacks"));
  const auto top = told(section, 1);
  for (const auto* part : {"train", "running", "SILENT", "rank 3"})
    CHECK(contains(top, part));
  CHECK(contains(read({ACTORCTL_PROGRAM, "restart", "train"}), "is being"));
  await_status([](const json& x) {
    return x["phase"] == "running" && x["generation"] == 2;
  });
  end();
}

TEST_CASE_METHOD(runbook_scene, "runbook: an agent was stopped", "[runbook]") {
  const auto options = agent_options{.nodes = "2:3"};
  node(options, sleeper);
  node(options, sleeper);
  auto& third = node(options, sleeper);
  await_running(6);
  third.signal(SIGSTOP);
  const auto* section = "An agent was stopped, or its host is gone";
  await_told(section, 0, "Generation 2 runs with 4 workers on 2 nodes");
  CHECK(contains(said, "was lost: "));
  CHECK(contains(said, "this cost no restart"));
  third.signal(SIGCONT);
  await_running(6); // It comes back by itself.
  end();
}

TEST_CASE_METHOD(runbook_scene, "runbook: a crash loop", "[runbook]") {
  const auto* section = "A crash loop";
  node({.nodes = "1",
        .restart_count_max = 50,
        .slots = 3,
        .more = {"--log-dir=" + folder() + "/logs", "--redirects=3"}},
       "sleep 0.5; [ $RANK != 2 ] || { echo 'raise FloatingPointError' >&2; "
       "echo 'FloatingPointError: loss is nan' >&2; exit 1; }; exec sleep 600");
  await_told(section, 0, "FloatingPointError: loss is nan");
  CHECK(contains(said, "rank 2 on "));
  CHECK(contains(said, "exited with code 1"));
  await_status([](const json& x) { return x["generation"] >= 3; });
  const auto logs = told(section, 1);
  CHECK(contains(logs, "[rank2]:FloatingPointError: loss is nan"));
  CHECK(contains(read({ACTORCTL_PROGRAM, "status"}), " of 50"));
  CHECK(contains(read({ACTORCTL_PROGRAM, "stop", "train"}), "stopped"));
}

TEST_CASE_METHOD(runbook_scene, "runbook: a leak", "[runbook]") {
  const auto group = memory_group{};
  if (!group)
    return skip("memory groups", "this test may limit no memory");
  const auto* section = "A leak";
  // It has more and more, and the other one hardly any.
  auto& job = node({.nodes = "1", .prefix = group.prefix()},
                   "[ $RANK = 1 ] || exec sleep 600; x=aaaaaaaaaaaaaaaa; "
                   "while :; do x=$x$x; done");
  CHECK(job.wait() != 0);
  const auto why = told(section, 0);
  CHECK(contains(why, "rank 1 on "));
  CHECK(contains(why, "was killed by the kernel for memory"));
  CHECK(contains(why, "(cgroup limit 300 MiB)"));
  CHECK(contains(why, "counter of processes that were killed for memory"));
}

TEST_CASE_METHOD(runbook_scene, "runbook: a disk is full", "[runbook]") {
  const auto* section = "A disk is full";
  auto& job
    = node({.nodes = "1",
            .slots = 1,
            .more = {"--log-dir=" + folder() + "/logs", "--redirects=3"}},
           "exec dd if=/dev/zero of=/dev/full bs=1 count=1");
  CHECK(job.wait() == 1);
  const auto why = told(section, 0);
  CHECK(contains(why, "exited with code 1"));
  CHECK(contains(why, "No space left on device"));
  CHECK(contains(told(section, 1, {{"/scratch", folder()}}), "is on the disk"));
  CHECK(
    contains(told(section, 1, {{"/scratch", "/proc"}}), "cannot make a file"));
}

TEST_CASE_METHOD(runbook_scene, "runbook: many generations", "[runbook]") {
  const auto* section = "Many generations";
  const auto options = agent_options{.restart_count_max = 50};
  const auto script
    = "[ $RANK != 2 ] || [ $TORCHELASTIC_RESTART_COUNT = 6 ] || "
      "exit 9; exec sleep 600";
  node(options, script);
  node(options, script);
  await_told(section, 0, "this cost restart 6 of 50");
  CHECK(contains(said, "exited with code 9"));
  const auto time = told(section, 1);
  CHECK(contains(time, "goodput"));
  CHECK(contains(time, "what ended each generation:"));
  end();
}

TEST_CASE_METHOD(runbook_scene, "runbook: a node never comes", "[runbook]") {
  node({}, sleeper);
  await_told("A node never comes", 0,
             "Waiting for 1 more node: 1 of 2 nodes are here");
  CHECK(contains(said, "otherwise the job gives up in "));
  CHECK(contains(said, "here: "));
  CHECK(contains(read({ACTORCTL_PROGRAM, "resize", "1", "train"}),
                 "resized from 2 to 1"));
  await_running(2);
  end();
}

TEST_CASE_METHOD(runbook_scene, "runbook: drain", "[runbook]") {
  const auto options = agent_options{.nodes = "2:3"};
  auto& first = node(options, sleeper);
  for (auto i = 0; i < 2; ++i)
    node(options, sleeper);
  await_running(6);
  const auto agents = status()["agents"];
  const auto is_last = [](const json& x) { return x["node_rank"] == 2; };
  const auto other = std::find_if(agents.begin(), agents.end(), is_last);
  REQUIRE(other != agents.end());
  // The coordinator's own node would stay.
  const auto mark = "-" + std::to_string(first.pid()) + "-";
  auto drained = (*other)["agent"].get<std::string>();
  if (contains(drained, mark))
    drained = agents[0]["agent"].get<std::string>();
  const auto instead = std::map<std::string, std::string>{
    {"n2", drained}, {"--node=n2", "--node=" + drained}};
  CHECK(contains(told("Drain", 0, instead), "leaves in 5.0 s at the latest"));
  await_running(4);
  const auto journal = told("Drain", 1, instead);
  for (const auto* part : {" joins (", " is about to leave", " left"})
    CHECK(contains(journal, part));
  end();
}

TEST_CASE_METHOD(runbook_scene, "runbook: resize", "[runbook]") {
  const auto options = agent_options{.nodes = "2:3", .slots = 1};
  node(options, sleeper);
  node(options, sleeper);
  await_running(2);
  CHECK(contains(told("Resize", 0), "resized from 2:3 to 2:4 nodes"));
  CHECK(contains(told("Resize", 1), "resized from 2:4 to 1:2 nodes"));
  CHECK(status()["generation"] == 1);
  end();
}

TEST_CASE_METHOD(runbook_scene, "runbook: two jobs of one id", "[runbook]") {
  const auto job = words{
    "--standalone", "--rdzv-id=train", "--no-python", "sh", "-c", sleeper};
  auto& one = run(job);
  auto& other = run(job);
  // `stop` would end the one that is there alone.
  for (const auto* x : {&one, &other})
    REQUIRE(eventually([&] {
      return contains(
        read({ACTORCTL_PROGRAM, "status", std::to_string(x->pid())}),
        "running");
    }));
  await_told("Two jobs of one id", 0, "several jobs run on this host");
  CHECK(contains(said, std::to_string(one.pid())));
  CHECK(contains(said, std::to_string(other.pid())));
  read({ACTORCTL_PROGRAM, "stop", std::to_string(one.pid())});
  one.wait();
  CHECK(other.running());
  end();
}

TEST_CASE_METHOD(runbook_scene, "runbook: many workers", "[runbook]") {
  node({.nodes = "1",
        .slots = 16,
        .more = {"--log-dir=" + folder() + "/logs", "--redirects=3"}},
       "echo up; exec sleep 600");
  await_running(16);
  await_told("Many workers", 0, "16 equal stacks");
  CHECK(contains(told("Many workers", 1), "[rank7]:up"));
  end();
}

} // namespace actorrun::test::runbook_test
