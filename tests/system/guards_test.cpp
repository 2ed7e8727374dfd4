// Tests all that ends workers when their agent cannot: wardens, control groups, the
// next agent, and the first process of a container.
#include "tests/support/catch.hpp"
#include "tests/support/skip.hpp"
#include "tests/system/scene.hpp"
#include "tests/system/wardens.hpp"

#include <algorithm>
#include <csignal>

#include <unistd.h>

namespace actorrun::test::guards_test {

namespace {

/// Runs a program as the first process of a pid namespace of its own.
const auto container
  = words{"unshare", "--pid", "--fork", "--kill-child", "--mount-proc"};

struct guards_scene : scene {
  /// A script that does not become its worker.
  agent_options wrapped(const std::string& nodes = "1:2") {
    return {.nodes = nodes,
            .command = {"bash", write("run.sh", "\"$@\"\nexit $?\n", true),
                        STAMPING_WORKER, "--folder=" + folder() + "/stamps"}};
  }

  static worker_records of_node(worker_records all, uint32_t node_rank) {
    std::erase_if(all, [=](const auto& x) { return x.node_rank != node_rank; });
    return all;
  }

  /// The workers of all generations after this one.
  worker_records workers_of_later(uint64_t generation) const {
    auto out = records();
    std::erase_if(out, [=](const auto& x) { return x.number <= generation; });
    return out;
  }
};

} // namespace

TEST_CASE_METHOD(
  guards_scene,
  "guards: N2 agent and warden killed at once, a script's worker "
  "ends with its generation",
  "[guards]") {
  auto& a = agent(wrapped());
  auto& b = agent(wrapped());
  const auto before = await_world(4);
  const auto mine = of_node(before, 1);
  REQUIRE(mine.size() == 2);
  const auto which = GENERATE(0U, 1U);
  const auto warden = wardens_of(b)[which];
  ::kill(b.pid(), SIGKILL);
  ::kill(warden, SIGKILL);
  const auto after = await_world(2, before[0].generation);
  CHECK(all_dead(mine));
  CHECK(last_of(records_of(before)) < first_of(after));
  order_end();
  CHECK(a.wait() == 0);
}

TEST_CASE_METHOD(
  guards_scene,
  "guards: N2 what an agent and all its wardens have left ends with "
  "the next agent",
  "[guards]") {
  auto& a = agent(wrapped());
  auto& b = agent(wrapped());
  const auto before = await_world(4);
  const auto mine = of_node(before, 1);
  const auto group
    = content_of("/proc/" + std::to_string(mine[0].pid) + "/cgroup");
  if (group.find("/actorrun-") == group.npos)
    actorrun::test::skip("cgroup", "no control group can be made here");
  else {
    kill_with_wardens(b);
    CHECK(alive(mine[0].pid)); // Nothing is there that could end it.
    auto& next = agent(wrapped());
    CHECK(all_dead(mine));
    CHECK(next.says("an agent that was killed has left processes in"));
    await_world(4, before[0].generation);
    order_end();
    CHECK(next.wait() == 0);
  }
  order_end();
  CHECK(a.wait() == 0);
}

TEST_CASE_METHOD(
  guards_scene,
  "guards: N12 the first process of a container proves the end of "
  "its agent",
  "[guards]") {
  if (::geteuid() != 0)
    return actorrun::test::skip("root", "only root can make namespaces");
  auto& a = agent({.nodes = "1:2"});
  auto& b = agent({.nodes = "1:2", .prefix = container});
  const auto runs = [](uint32_t world, uint64_t after) {
    return [=](const json& job) {
      return job["phase"] == "running" && job["world_size"] == world
             && job["generation"] > after;
    };
  };
  const auto before = await_status(runs(4, 0))["generation"].get<uint64_t>();
  const auto init = find(b.pid(), "arun-init");
  REQUIRE(init != 0);
  const auto below = find(init, "actorrun");
  REQUIRE(below != 0);
  const auto killed = now_ns();
  ::kill(below, SIGKILL);
  await_status(runs(2, before));
  auto fresh = worker_records{};
  REQUIRE(eventually([&] {
    fresh = workers_of_later(before);
    return fresh.size() == 2;
  }));
  auto old = records(); // Their pids are others in there.
  std::erase_if(old, [=](const auto& x) { return x.number > before; });
  // Far less than the lease of 1.2 s.
  CHECK(first_of(fresh) - killed < 900'000'000);
  CHECK(last_of(old) < first_of(fresh));
  CHECK(a.says("confirms that the agent and its workers are dead"));
  CHECK(b.wait() == 128 + SIGKILL);
  order_end();
  CHECK(a.wait() == 0);
}

TEST_CASE_METHOD(
  guards_scene,
  "guards: N12 the first process of a container passes signals on "
  "and ends as its agent does",
  "[guards]") {
  if (::geteuid() != 0)
    return actorrun::test::skip("root", "only root can make namespaces");
  const auto below_init = [&](const std::string& script) -> program& {
    auto line = container;
    for (const auto* x :
         {ACTORRUN_PROGRAM, "--standalone", "--no-python", "sh", "-c"})
      line.push_back(x);
    line.push_back(script);
    return start(std::move(line));
  };
  CHECK(below_init("exit 0").wait() == 0);
  CHECK(below_init("exit 3").wait() == 1);
  // A daemon that the worker leaves does not keep the container.
  CHECK(below_init("setsid -f sleep 1000; exit 0").wait() == 0);
  auto& x = below_init("trap 'echo saved > saved; exit 0' TERM; touch ready;"
                       "while :; do sleep 0.02; done");
  const auto ready = folder() + "/ready";
  REQUIRE(eventually([&] { return ::access(ready.c_str(), F_OK) == 0; }));
  ::kill(find(x.pid(), "arun-init"), SIGTERM);
  CHECK(x.wait() == 128 + SIGTERM);
  CHECK(content_of(folder() + "/saved") == "saved\n");
}

} // namespace actorrun::test::guards_test
