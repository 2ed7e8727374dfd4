// Agents that end: killed, by a signal, or together with the coordinator.
#include "tests/support/catch.hpp"
#include "tests/system/scene.hpp"

#include <algorithm>
#include <csignal>

namespace actorrun::test::leaving_test {

namespace {

/// The requirement is 100 ms; the rest is for a busy machine.
constexpr auto death_limit = milliseconds{1'000};

worker_records of_node(const worker_records& all, uint32_t node_rank) {
  auto out = all;
  std::erase_if(
    out, [node_rank](const auto& x) { return x.node_rank != node_rank; });
  return out;
}

} // namespace

TEST_CASE_METHOD(scene, "agent killed: no worker outlives it, others go on",
                 "[leaving]") {
  agent({.nodes = "1:3", .worker = {"--child"}});
  auto& b = agent({.nodes = "1:3", .worker = {"--child", "--ignore-term"}});
  const auto before = await_world(4);
  REQUIRE(eventually([&] { return records().size() >= 8; }));
  auto dying = of_node(records(), 1);
  std::erase_if(
    dying, [&](const auto& x) { return x.generation != before[0].generation; });
  REQUIRE(dying.size() == 4);
  b.signal(SIGKILL);
  CHECK(all_dead(dying, death_limit));
  const auto after = await_world(2, before[0].generation);
  CHECK(after[0].restart_count == 0);
  CHECK(last_of(records_of(before)) < first_of(after));
}

TEST_CASE_METHOD(scene,
                 "agent killed: too few nodes wait, report it, and give up",
                 "[leaving]") {
  auto& a = agent({.conf = ",join_timeout=2"});
  auto& b = agent({.conf = ",join_timeout=2"});
  const auto before = await_world(4);
  b.signal(SIGKILL);
  await_status([](const json& x) {
    return x["phase"] == "gathering"
           && x["waiting_for"]
                == "waiting for 1 more node: 1 of 2 nodes are here";
  });
  CHECK(all_dead(before));
  CHECK(a.wait() == 3);
  CHECK(count_of(a.output(), "1 of 2 nodes") >= 1);
  CHECK(workers_of(before[0].generation + 1).empty());
}

// Others keep their work, whatever starts it again and again.
TEST_CASE_METHOD(
  scene,
  "agent killed: W9 a node that crashes again and again stands by after the "
  "third time, and costs the others no more",
  "[leaving]") {
  const auto options = agent_options{.nodes = "1:2"};
  auto& a = agent(options);
  const auto stands_by = [](const json& status) {
    return std::ranges::any_of(status["agents"], [](const json& node) {
      return node["state"] == "standby"
             && node["reason"].get<std::string>().starts_with(
               "stands by, because it has cost 3 generations");
    });
  };
  auto* b = &agent(options);
  auto newest = await_world(4);
  auto crash_count = 0;
  // It is started again when the others know that it is gone.
  const auto crash = [&] {
    b->signal(SIGKILL);
    b->wait();
    await_status([](const json& x) { return x["agents"].size() == 1; });
  };
  const auto runs_or_stands_by = [&] {
    return await_status([&](const json& x) {
      return stands_by(x) || (x["phase"] == "running" && x["world_size"] == 4);
    });
  };
  while (!stands_by(runs_or_stands_by()) && crash_count < 4) {
    crash();
    ++crash_count;
    newest = await_world(2, newest[0].generation);
    b = &agent(options);
  }
  CHECK(crash_count <= 3);
  newest = await_world(2, newest[0].generation - 1);
  for (auto i = 0; i < 6; ++i) {
    // Each second time its death is not proved before its lease has ended.
    if (i % 2 == 1)
      for (const auto pid : descendants(b->pid()))
        if (is_warden(pid))
          ::kill(pid, SIGKILL);
    b->signal(SIGKILL);
    b->wait();
    b = &agent(options);
    await_status(
      [&](const json& x) { return x["agents"].size() == 2 && stands_by(x); });
  }
  for (const auto& x : newest)
    CHECK(alive(x.pid));
  const auto now = status();
  CHECK(now["generation"] == newest[0].number);
  CHECK(now["restarts"] == 0);
  // An operator who has repaired it does not wait.
  auto code = -1;
  read({ACTORCTL_PROGRAM, "include", now["agents"][0]["host"]}, &code);
  CHECK(code == 0);
  await_world(4, newest[0].generation);
  order_end();
  CHECK(a.wait() == 0);
  CHECK(b->wait() == 0);
}

TEST_CASE_METHOD(scene, "agent killed: the node that replaces it is accepted",
                 "[leaving]") {
  auto& a = agent({});
  auto& b = agent({});
  const auto before = await_world(4);
  b.signal(SIGKILL);
  await_status([](const json& x) { return x["phase"] == "gathering"; });
  auto& c = agent({});
  await_world(4, before[0].generation);
  order_end();
  CHECK(a.wait() == 0);
  CHECK(c.wait() == 0);
}

TEST_CASE_METHOD(scene, "agent killed: its peers' workers fail at no cost",
                 "[leaving]") {
  // Rank 0 is on the first node; the workers of both others lose their peers.
  // Workers that listen at MASTER_PORT themselves.
  const auto peers = agent_options{
    .nodes = "1:3", .more = {"--no-agent-store"}, .worker = {"--peers"}};
  auto& a = agent(peers);
  const auto alone = await_world(2);
  auto& b = agent(peers);
  auto& c = agent(peers);
  const auto before = await_world(6, alone[0].generation);
  c.signal(SIGKILL);
  const auto after = await_world(4, before[0].generation);
  CHECK(after[0].restart_count == 0);
  const auto now = await_status([](const json& x) {
    return x["phase"] == "running" && x["world_size"] == 4;
  });
  CHECK(now["restarts"] == 0);
  order_end();
  CHECK(a.wait() == 0);
  CHECK(b.wait() == 0);
}

TEST_CASE_METHOD(scene, "agent terminated: exit code 143, the others regroup",
                 "[leaving]") {
  auto& a = agent({.nodes = "1:2"});
  auto& b = agent({.nodes = "1:2"});
  const auto before = await_world(4);
  b.signal(SIGTERM);
  CHECK(b.wait() == 143);
  CHECK(all_dead(of_node(before, 1), 0ms));
  const auto after = await_world(2, before[0].generation);
  CHECK(after[0].restart_count == 0);
  CHECK(count_of(a.output(), "leaves (signal 15)") >= 1);
  order_end();
  CHECK(a.wait() == 0);
}

TEST_CASE_METHOD(scene, "agent interrupted: exit code 130", "[leaving]") {
  auto& a = run({"--standalone", "--no-python", "sleep", "613"});
  await_status([](const json& x) { return x["phase"] == "running"; });
  a.signal(SIGINT);
  CHECK(a.wait() == 130);
}

TEST_CASE_METHOD(scene,
                 "agent terminated twice: the second signal does not wait",
                 "[leaving]") {
  agent({.nodes = "1:2"});
  auto& b = agent({.nodes = "1:2", .worker = {"--ignore-term", "--child"}});
  const auto before = await_world(4);
  b.signal(SIGTERM);
  REQUIRE(b.says("SIGTERM: stopping the workers"));
  CHECK_FALSE(b.wait(300ms) == 143); // The grace period is 30 s.
  CHECK(alive(before[2].pid));
  b.signal(SIGTERM);
  CHECK(b.wait(25s) == 143);
  CHECK(all_dead(of_node(records(), 1)));
  await_world(2, before[0].generation);
}

TEST_CASE_METHOD(scene, "host terminated: the job ends on all nodes",
                 "[leaving]") {
  auto& a = agent({.nodes = "1:2"});
  auto& b = agent({.nodes = "1:2"});
  await_world(4);
  a.signal(SIGTERM);
  CHECK(a.wait() == 143);
  CHECK(b.wait() == 143);
  CHECK(all_dead(records()));
}

TEST_CASE_METHOD(scene, "host killed: the others wait, then end and report why",
                 "[leaving]") {
  auto& a = agent({.nodes = "1:3", .conf = ",read_timeout=2"});
  auto& b = agent({.nodes = "1:3", .conf = ",read_timeout=2"});
  auto& c = agent({.nodes = "1:3", .conf = ",read_timeout=2"});
  const auto before = await_world(6);
  const auto killed = clock::now();
  a.signal(SIGKILL);
  CHECK(all_dead(of_node(before, 0), death_limit));
  for (auto* x : {&b, &c}) {
    CHECK(x->wait(30s) == 5);
    CHECK(count_of(x->output(), "coordinator") >= 1);
    CHECK(count_of(x->output(), endpoint()) >= 1);
  }
  CHECK(clock::now() - killed > 1'800ms);
  CHECK(all_dead(before));
}

} // namespace actorrun::test::leaving_test
