// Nodes whose checks fail.
#include "tests/support/catch.hpp"
#include "tests/system/scene.hpp"
#include "tests/system/wardens.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

namespace actorrun::test::checks_test {

namespace {

/// Of three nodes, one has a file that says that it is sick.
struct checks_scene : scene {
  std::string mark = folder() + "/sick";

  agent_options options(const char* nodes, bool is_checked) const {
    auto out
      = agent_options{.nodes = nodes, .restart_count_max = 3, .slots = 1};
    out.conf = ",join_settle=0.3";
    if (is_checked)
      out.more
        = {"--check=test ! -e " + mark + " || { echo GPU 3 is lost; false; }"};
    return out;
  }

  void be_sick() const { std::ofstream{mark} << "yes"; }
  void heal() const { std::filesystem::remove(mark); }

  /// Of the node that can take no part.
  /// A check of it has failed; before, it is being checked.
  json await_unfit() {
    auto out = json{};
    await_status([&](const json& x) {
      for (const auto& node : x["agents"])
        if (node["state"] == "unfit"
            && node["reason"].get<std::string>().starts_with("its check"))
          out = node;
      return out.is_object();
    });
    return out;
  }
};

} // namespace

TEST_CASE_METHOD(checks_scene,
                 "checks: a node whose check fails takes no part until it is "
                 "well, and is named",
                 "[checks]") {
  be_sick();
  agent(options("2:3", false));
  auto& sick = agent(options("2:3", true));
  agent(options("2:3", false));
  const auto two = await_world(2);
  CHECK(sick.says("this node takes no part: its check"));
  const auto reason = await_unfit()["reason"].get<std::string>();
  INFO(reason);
  CHECK(reason.find("(exit code 1): GPU 3 is lost") != std::string::npos);
  const auto why = read({ACTORCTL_PROGRAM, "why"});
  INFO(why);
  CHECK(why.find("GPU 3 is lost") != std::string::npos);
  heal(); // It is checked again 10 s after the first time.
  const auto three = await_world(3, two[0].generation);
  CHECK(three[0].restart_count == 0);
  order_end();
  for (auto& x : programs())
    x.wait();
}

TEST_CASE_METHOD(checks_scene,
                 "checks: the node of the first failure is checked, and the "
                 "others go on without it",
                 "[checks]") {
  agent(options("2:3", true));
  agent(options("2:3", true));
  agent(options("2:3", true));
  const auto three = await_world(3);
  // Only the node that fails finds the mark, as it is gone before others look.
  be_sick();
  order_exit(three[1].pid, 7);
  const auto two = await_world(2, three[0].generation);
  CHECK(two[0].restart_count == 1);
  const auto reason = await_unfit()["reason"].get<std::string>();
  CHECK(reason.find("GPU 3 is lost") != std::string::npos);
  order_end();
  for (auto& x : programs())
    x.wait();
}

TEST_CASE_METHOD(checks_scene,
                 "checks: a check that hangs is killed with all that it has "
                 "started, with its agent, too",
                 "[checks]") {
  const auto pids = folder() + "/pids";
  const auto hangs
    = "--check=sh -c 'echo $$ >> " + pids + "; sleep 1000' & wait";
  const auto pids_there = [&] {
    auto in = std::ifstream{pids};
    auto out = std::vector<pid_t>{};
    for (auto pid = pid_t{}; in >> pid;)
      out.push_back(pid);
    return out;
  };
  SECTION("when its time is over") {
    auto x = options("1:2", false);
    x.more = {hangs, "--check-timeout=1s"};
    auto& checked = agent(x);
    CHECK(checked.says("(it has not ended within 1.0 s)"));
    require(eventually([&] { return pids_there().size() == 1; }), "it ran");
    CHECK(eventually([&] { return !alive(pids_there()[0]); }));
  }
  SECTION("when its agent is killed") {
    auto x = options("1:2", false);
    x.more = {hangs};
    auto& checked = agent(x);
    require(eventually([&] { return pids_there().size() == 1; }), "it runs");
    checked.signal(SIGKILL);
    checked.wait();
    CHECK(eventually([&] { return !alive(pids_there()[0]); }));
  }
}

TEST_CASE_METHOD(checks_scene,
                 "checks: a failure that the node's check explains costs no "
                 "restart if that is asked for",
                 "[checks]") {
  auto x = options("2:3", true);
  x.restart_count_max = 0;
  x.more.push_back("--node-failures-are-free");
  for (auto i = 0; i < 3; ++i)
    agent(x);
  const auto three = await_world(3);
  be_sick();
  order_exit(three[1].pid, 7);
  const auto two = await_world(2, three[0].generation);
  CHECK(two[0].restart_count == 0);
  const auto why = read({ACTORCTL_PROGRAM, "why", "--all"});
  INFO(why);
  CHECK(
    why.find("this cost no restart, because the node is at fault: its check")
    != std::string::npos);
  const auto journal = read({ACTORCTL_PROGRAM, "journal"});
  INFO(journal);
  CHECK(journal.find("costs no restart: node ") != std::string::npos);
  const auto nodes = read({ACTORCTL_PROGRAM, "nodes"});
  INFO(nodes);
  CHECK(nodes.find("failed for ") != std::string::npos);
  CHECK(nodes.find("GPU 3 is lost") != std::string::npos);
  order_end();
  for (auto& y : programs())
    y.wait();
}

TEST_CASE_METHOD(
  checks_scene,
  "checks: with free failures of nodes, those of the program end "
  "the job when its node is found well",
  "[checks]") {
  auto x = options("2:3", true);
  x.restart_count_max = 0;
  x.more.push_back("--node-failures-are-free");
  for (auto i = 0; i < 3; ++i)
    agent(x);
  const auto three = await_world(3);
  order_exit(three[1].pid, 7);
  for (auto& y : programs())
    CHECK(y.wait() == 1);
}

TEST_CASE_METHOD(checks_scene,
                 "checks: a built-in one runs in a process of its own, and by "
                 "hand",
                 "[checks]") {
  const auto world = folder() + "/world";
  const auto set_world = [&](const std::string& text) {
    std::ofstream{folder() + "/next"} << text;
    std::filesystem::rename(folder() + "/next", world);
  };
  const auto gpu = std::string{
    "gpu uuid=GPU-a name=NVIDIA_H200 pci=00000000:65:00.0 used=0 total=1000"};
  set_world(gpu + " lost=1\n");
  const auto drivers
    = std::map<std::string, std::string>{{"ACTORRUN_NVML_LIBRARY", GPU_STANDIN},
                                         {"ACTORRUN_CUDA_LIBRARY", GPU_STANDIN},
                                         {"ACTORRUN_GPU_STANDIN", world}};
  auto x = options("1:2", false);
  x.environment = drivers;
  SECTION("what it finds keeps the node out until it is well") {
    x.more = {"--check=disk", "--check=gpu-quick"};
    agent(x);
    const auto reason = await_unfit()["reason"].get<std::string>();
    CHECK(reason
          == "its check `gpu-quick` has failed (exit code 1): GPU 0: GPU is "
             "lost");
    set_world(gpu + "\n");
    await_world(1);
    order_end();
  }
  SECTION("one that hangs is killed, and the agent goes on") {
    set_world(gpu + "\nhang\n");
    x.more = {"--check=gpu-quick", "--check-timeout=1s"};
    agent(x);
    CHECK(
      await_unfit()["reason"]
      == "its check `gpu-quick` has failed (it has not ended within 1.0 s)");
    set_world(gpu + "\n");
    await_world(1);
    order_end();
  }
  SECTION("a name that is nearly one is a command") {
    x.more = {"--check=disc"};
    agent(x);
    CHECK(await_unfit()["reason"].get<std::string>().find("(exit code 127)")
          != std::string::npos);
    order_end();
    programs().front().signal(SIGTERM);
  }
  SECTION("by hand") {
    auto& sick = start({ACTORCTL_PROGRAM, "check", "gpu-quick"}, drivers);
    CHECK(sick.wait() == 1);
    CHECK(sick.output().find("GPU 0: GPU is lost") != std::string::npos);
    auto& disk = start({ACTORCTL_PROGRAM, "check", "disk", folder()});
    CHECK(disk.wait() == 0);
    CHECK(disk.output().find(folder() + ": 1 MiB is on the disk after")
          != std::string::npos);
    auto& none = start({ACTORCTL_PROGRAM, "check", "disc"});
    CHECK(none.wait() == 2);
  }
  for (auto& y : programs())
    y.wait();
}

TEST_CASE_METHOD(
  checks_scene,
  "checks: excluded hosts outlive the job where a file names them",
  "[checks]") {
  const auto file = folder() + "/excluded";
  std::ofstream{file} << "# by hand\nn8 2026-11-30T04:10:11Z\n";
  const auto content = [&] {
    auto in = std::ifstream{file};
    return std::string{std::istreambuf_iterator<char>{in}, {}};
  };
  auto x = options("1", false);
  x.more = {"--exclude-file=" + file};
  agent(x);
  await_world(1);
  CHECK(status()["excluded_hosts"][0]["host"] == "n8");
  read({ACTORCTL_PROGRAM, "exclude", "n9", "--reason=bad disk"});
  CHECK(eventually([&] {
    return content().find("\nn9 20") != std::string::npos
           && content().find(": bad disk\n") != std::string::npos;
  }));
  read({ACTORCTL_PROGRAM, "include", "n8"});
  CHECK(eventually([&] { return content().find("n8") == std::string::npos; }));
  CHECK(content().starts_with("# by hand\nn9 "));
  order_end();
  for (auto& y : programs())
    y.wait();
  std::ofstream{file, std::ios::app} << "n7\n";
  auto& refused = agent(x);
  CHECK(refused.wait() != 0);
  CHECK(refused.says(file + ": line 3 has no time behind the host"));
}

} // namespace actorrun::test::checks_test
