// A node whose log folder hangs, as on a network file system without its server.
#include "tests/support/catch.hpp"
#include "tests/system/scene.hpp"

#include <csignal>
#include <filesystem>

namespace actorrun::test::hangs_test {

namespace {

namespace fs = std::filesystem;

struct hangs_scene : scene {
  /// An agent whose log folder hangs between `hang` and `recover`.
  agent_options with_logs() {
    const auto logs = folder() + "/logs";
    return {.nodes = "2",
            .restart_count_max = 3,
            .more = {"--log-dir=" + logs, "--redirects=3", "--tee=3"},
            .environment = {{"LD_PRELOAD", HANGING_FILES},
                            {"HANGING_FOLDER", logs},
                            {"HANGING_WHILE", flag()}}};
  }

  std::string flag() const { return folder() + "/hangs"; }
  void hang() { write("hangs", ""); }
  void recover() { fs::remove(flag()); }
};

constexpr auto lease = int64_t{1'200'000'000}; // In ns.

} // namespace

TEST_CASE_METHOD(hangs_scene,
                 "hanging logs: others restart at once, and no node is evicted",
                 "[hangs]") {
  auto& a = agent({.nodes = "2", .restart_count_max = 3});
  auto& b = agent(with_logs());
  const auto first = await_world(4);
  hang();
  const auto killed = now_ns();
  ::kill(first[0].pid, SIGKILL);
  // Node 0 runs again although node 1 cannot.
  auto again = worker_records{};
  require(eventually([&] {
            again = workers_of(first[0].generation + 1);
            return again.size() == 2;
          }),
          "the workers of the other node run again");
  CHECK(first_of(again) - killed < lease);
  // It stays so for longer than any lease: the hung node keeps its own.
  require(eventually([&] { return now_ns() - killed > 4 * lease; }),
          "time passes");
  CHECK(status()["agents"].size() == 2);
  CHECK(status()["generation"] == again[0].number);
  CHECK(alive(again[0].pid));
  recover();
  const auto all = await_world(4, first[0].generation);
  CHECK(all[0].pid == again[0].pid);
  CHECK(all[0].generation == again[0].generation);
  order_end();
  CHECK(a.wait() == 0);
  CHECK(b.wait() == 0);
  CHECK(a.output().find("lost") == std::string::npos);
}

TEST_CASE_METHOD(hangs_scene,
                 "hanging logs: a worker's death is reported without its last "
                 "lines",
                 "[hangs]") {
  auto& a = agent({.nodes = "2", .restart_count_max = 3});
  auto& b = agent(with_logs());
  const auto first = await_world(4);
  hang();
  order_exit(first[3].pid, 7);
  require(
    eventually([&] { return workers_of(first[0].generation + 1).size() == 2; }),
    "the workers of the other node run again");
  CHECK(b.output().find("did not answer") != std::string::npos);
  recover();
  await_world(4, first[0].generation);
  order_end();
  CHECK(a.wait() == 0);
  CHECK(b.wait() == 0);
}

TEST_CASE_METHOD(hangs_scene, "hanging logs: two signals end the node",
                 "[hangs]") {
  auto with = with_logs();
  with.nodes = "1";
  auto& a = agent(with);
  const auto first = await_world(2);
  hang();
  a.signal(SIGTERM);
  CHECK(all_dead(first));
  a.signal(SIGTERM);
  CHECK(a.wait() == 128 + SIGTERM);
  recover();
}

TEST_CASE_METHOD(hangs_scene, "hanging logs: two signals at once end the node",
                 "[hangs]") {
  auto with = with_logs();
  with.nodes = "1";
  auto& a = agent(with);
  await_world(2);
  hang();
  a.signal(SIGTERM);
  a.signal(SIGINT);
  CHECK(a.wait() != 0);
  recover();
}

TEST_CASE_METHOD(hangs_scene,
                 "hanging logs: two signals end the node of a job that failed",
                 "[hangs]") {
  auto with = with_logs();
  with.nodes = "1";
  with.restart_count_max = 0;
  auto& a = agent(with);
  const auto first = await_world(2);
  hang();
  order_exit(first[0].pid, 7);
  CHECK(all_dead(first));
  require(eventually([&] {
            return a.output().find("two signals end the wait")
                   != std::string::npos;
          }),
          "the job is over, and the node says why it waits");
  a.signal(SIGTERM);
  a.signal(SIGINT);
  CHECK(a.wait() == 1);
  recover();
}

} // namespace actorrun::test::hangs_test
