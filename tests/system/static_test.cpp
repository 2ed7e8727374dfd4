// Jobs whose nodes have fixed ranks: --rdzv-backend=static.
#include "tests/support/catch.hpp"
#include "tests/system/scene.hpp"

#include <csignal>

namespace actorrun::test::static_test {

namespace {

struct static_scene : scene {
  /// A node of two workers, with neither back end nor id, as is common.
  program& node(uint32_t rank, words more = {}) {
    auto command = words{"--nnodes=2",
                         "--nproc-per-node=2",
                         "--node-rank=" + std::to_string(rank),
                         "--master-addr=127.0.0.1",
                         "--master-port=" + std::to_string(port()),
                         "--max-restarts=1"};
    command.insert(command.end(), more.begin(), more.end());
    for (const auto& word :
         {std::string{"--no-python"}, std::string{STAMPING_WORKER},
          "--folder=" + folder() + "/stamps"})
      command.push_back(word);
    return run(std::move(command));
  }

  /// The agent of a worker.
  static pid_t parent_of(pid_t pid) {
    const auto text = content_of("/proc/" + std::to_string(pid) + "/stat");
    const auto state = text.rfind(") ");
    return state == text.npos ? 0 : std::stoi(text.substr(state + 4));
  }
};

} // namespace

TEST_CASE_METHOD(static_scene, "static: nodes have the ranks that they ask for",
                 "[static]") {
  auto& b = node(1);
  auto& a = node(0);
  const auto workers = await_world(4);
  for (const auto& x : workers) {
    CHECK(x.node_rank == x.rank / 2);
    CHECK(parent_of(x.pid) == (x.node_rank == 0 ? a : b).pid());
    CHECK(x.master_address == "127.0.0.1");
  }
  order_end();
  CHECK(a.wait() == 0);
  CHECK(b.wait() == 0);
}

TEST_CASE_METHOD(static_scene, "static: a failure restarts all nodes",
                 "[static]") {
  auto& a = node(0);
  auto& b = node(1);
  const auto before = await_world(4);
  order_exit(before[3].pid, 7);
  const auto after = await_world(4, before[0].generation);
  CHECK(all_dead(before));
  for (const auto& x : after) {
    CHECK(x.restart_count == 1);
    CHECK(parent_of(x.pid) == (x.node_rank == 0 ? a : b).pid());
  }
  order_exit(after[0].pid, 7);
  CHECK(a.wait() == 1);
  CHECK(b.wait() == 1);
}

TEST_CASE_METHOD(static_scene,
                 "static: a node that is started anew has its "
                 "old rank",
                 "[static]") {
  auto& a = node(0);
  auto& b = node(1);
  const auto before = await_world(4);
  b.signal(SIGKILL);
  REQUIRE(b.wait() == -SIGKILL);
  auto& c = node(1);
  const auto after = await_world(4, before[0].generation);
  for (const auto& x : after)
    CHECK(parent_of(x.pid) == (x.node_rank == 0 ? a : c).pid());
  order_end();
  CHECK(a.wait() == 0);
  CHECK(c.wait() == 0);
}

TEST_CASE_METHOD(static_scene, "static: a rank that is taken is refused",
                 "[static]") {
  node(0);
  node(1);
  const auto before = await_world(4);
  auto& c = node(1);
  CHECK(c.wait() == 4);
  CHECK(c.says("node rank 1 is taken"));
  CHECK(c.says("give every node a rank of its own"));
  CHECK(pids_of(records()) == pids_of(records_of(before)));
}

TEST_CASE_METHOD(static_scene,
                 "static: a second rank 0 on one host gets an error "
                 "that explains rank 0",
                 "[static]") {
  auto& a = node(0);
  REQUIRE(a.says("listens on"));
  auto& b = node(0);
  CHECK(b.wait() == 6);
  CHECK(b.says("--node-rank=0, which is the default"));
}

TEST_CASE_METHOD(static_scene, "static: a rank beyond the last is refused",
                 "[static]") {
  auto& a = node(2);
  CHECK(a.wait() == 2);
  CHECK(a.says("0..1"));
}

TEST_CASE_METHOD(static_scene,
                 "static: a node with another back end is refused "
                 "with the reason",
                 "[static]") {
  node(0, {"--rdzv-id=job"});
  auto& b = run({"--nnodes=2", "--max-restarts=1", "--rdzv-id=job",
                 "--rdzv-endpoint=" + endpoint(), "--rdzv-conf=is_host=0",
                 "--no-python", "true"});
  CHECK(b.wait() == 4);
  CHECK(b.says("--rdzv-backend=static"));
}

} // namespace actorrun::test::static_test
