// Nodes that join a running job.
#include "tests/support/catch.hpp"
#include "tests/system/scene.hpp"

#include <csignal>

namespace actorrun::test {

TEST_CASE_METHOD(scene, "joiner: one regroup, a larger world", "[joining]") {
  auto& a = agent({.nodes = "1:4"});
  const auto alone = await_world(2);
  auto& b = agent({.nodes = "1:4"});
  const auto both = await_world(4, alone[0].generation);
  CHECK(both[0].generation == alone[0].generation + 1);
  CHECK(both[0].restart_count == 0);
  CHECK(last_of(records_of(alone)) < first_of(both));
  for (size_t i = 0; i < both.size(); ++i)
    CHECK(both[i].rank == i);
  order_end();
  CHECK(a.wait() == 0);
  CHECK(b.wait() == 0);
}

TEST_CASE_METHOD(scene, "joiners: a burst of them costs one regroup",
                 "[joining]") {
  auto options = agent_options{.nodes = "1:8", .slots = 1};
  options.conf = ",join_settle=1";
  agent(options);
  const auto alone = await_world(1);
  for (auto i = 0; i < 5; ++i)
    agent(options);
  const auto all = await_world(6, alone[0].generation);
  CHECK(all[0].generation == alone[0].generation + 1);
}

TEST_CASE_METHOD(scene,
                 "joiner: a standby beyond the maximum replaces a lost node",
                 "[joining]") {
  const auto options = agent_options{.nodes = "2:2"};
  auto& a = agent(options);
  auto& b = agent(options);
  const auto before = await_world(4);
  auto& c = agent(options);
  REQUIRE(c.says("stands by"));
  await_status([](const json& x) {
    auto standby = 0;
    for (const auto& node : x["agents"])
      standby += node["state"] == "standby" ? 1 : 0;
    return x["phase"] == "running" && standby == 1;
  });
  CHECK(pids_of(workers_of(before[0].generation)) == pids_of(before));
  CHECK(alive(before[0].pid));
  const auto killed = now_ns();
  b.signal(SIGKILL);
  const auto after = await_world(4, before[0].generation);
  CHECK(after[0].generation == before[0].generation + 1);
  CHECK(after[0].restart_count == 0);
  // At once: no lease, no settle time, no last call.
  CHECK(first_of(after) - killed < 1'000'000'000);
  order_end();
  CHECK(a.wait() == 0);
  CHECK(c.wait() == 0);
}

TEST_CASE_METHOD(scene, "nodes: each may bring its own number of workers",
                 "[joining]") {
  auto& a = agent({.slots = 1});
  auto& b = agent({.slots = 3});
  const auto all = await_world(4);
  auto of_three = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    CHECK(all[i].rank == i);
    CHECK(all[i].world_size == 4);
    CHECK(all[i].local_rank < all[i].local_world_size);
    of_three += all[i].local_world_size == 3 ? 1 : 0;
  }
  CHECK(of_three == 3);
  order_end();
  CHECK(a.wait() == 0);
  CHECK(b.wait() == 0);
}

TEST_CASE_METHOD(scene, "joiner: those that stay keep their node rank",
                 "[joining]") {
  agent({.nodes = "1:4", .slots = 1});
  const auto alone = await_world(1);
  auto& b = agent({.nodes = "1:4", .slots = 1});
  const auto two = await_world(2, alone[0].generation);
  agent({.nodes = "1:4", .slots = 1});
  const auto three = await_world(3, two[0].generation);
  const auto agents_by_rank = [](const json& x) {
    auto out = std::vector<std::string>(x["agents"].size());
    for (const auto& node : x["agents"])
      if (node["node_rank"].is_number())
        out.at(node["node_rank"]) = node["agent"];
    return out;
  };
  const auto before = agents_by_rank(
    await_status([](const json& x) { return x["phase"] == "running"; }));
  b.signal(SIGKILL);
  await_world(2, three[0].generation);
  const auto after = agents_by_rank(await_status([](const json& x) {
    return x["phase"] == "running" && x["world_size"] == 2;
  }));
  REQUIRE(before.size() == 3);
  REQUIRE(after.size() == 2);
  CHECK(after[0] == before[0]);
  CHECK(after[1] == before[2]);
}

} // namespace actorrun::test
