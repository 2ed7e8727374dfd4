// Nodes whose checks fail.
#include "tests/support/catch.hpp"
#include "tests/system/scene.hpp"
#include "tests/system/wardens.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>

namespace actorrun::test {

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
  json await_unfit() {
    auto out = json{};
    await_status([&](const json& x) {
      for (const auto& node : x["agents"])
        if (node["state"] == "unfit")
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

} // namespace actorrun::test
