// Nodes that join a running job.
#include "tests/support/catch.hpp"
#include "tests/system/scene.hpp"

#include <algorithm>
#include <csignal>

namespace actorrun::test::joining_test {

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

namespace {

/// A node whose agent crashes and is started again, as by its scheduler.
struct sick_node_scene : scene {
  agent_options options(const char* nodes) const {
    // No stall of a busy machine is taken for a crash. What a node has cost is
    // forgotten soon.
    return {.nodes = nodes,
            .conf = ",keep_alive_max_attempt=12,rejoin_backoff=7s"};
  }

  void crash_and_start(const agent_options& x) {
    crashed = now_ns();
    sick->signal(SIGKILL);
    sick->wait();
    sick = &agent(x);
  }

  program* sick = nullptr;
  int64_t crashed = 0; ///< When it was killed last.
};

} // namespace

TEST_CASE_METHOD(
  sick_node_scene,
  "joiner: W9 a node that has crashed too often stands by, and comes back by "
  "itself when it has been well for 5 s",
  "[joining]") {
  const auto x = options("1:2");
  auto& healthy = agent(x);
  sick = &agent(x);
  await_world(4);
  const auto stands_by = [](const json& node) {
    return node["reason"].get<std::string>().starts_with(
      "stands by, because it has cost 3 generations");
  };
  // Three costs within the time in which they count: a busy machine may need more
  // than a loss, a return and another loss.
  auto is_out = false;
  for (auto crashes = 0; !is_out && crashes < 8; ++crashes) {
    const auto before = records().back().number;
    crash_and_start(x);
    await_status([&](const json& job) {
      is_out = std::ranges::any_of(job["agents"], stands_by);
      return is_out
             || (job["phase"] == "running" && job["world_size"] == 4
                 && job["generation"] > before);
    });
  }
  REQUIRE(is_out);
  const auto alone = await_world(2);
  const auto back = await_world(4, alone[0].generation);
  CHECK(back[0].restart_count == 0);
  CHECK(first_of(back) - crashed > 5'000'000'000);
  CHECK(last_of(records_of(alone)) < first_of(back));
  order_end();
  CHECK(healthy.wait() == 0);
  CHECK(sick->wait() == 0);
}

TEST_CASE_METHOD(
  sick_node_scene,
  "joiner: W9 a node that the job needs is let in, however often "
  "it has crashed",
  "[joining]") {
  const auto x = options("2");
  auto& healthy = agent(x);
  sick = &agent(x);
  auto both = await_world(4);
  const auto first = both[0].number;
  for (auto i = 0; i < 5; ++i) {
    crash_and_start(x);
    both = await_world(4, both[0].generation);
  }
  CHECK(both[0].number == first + 5);
  CHECK(both[0].restart_count == 0);
  for (auto& node : programs())
    CHECK(count_of(node.output(), "cost 3 generations") == 0);
  order_end();
  CHECK(healthy.wait() == 0);
  CHECK(sick->wait() == 0);
}

} // namespace actorrun::test::joining_test
