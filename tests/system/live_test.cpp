// Workers that live through changes.
#include "tests/support/catch.hpp"
#include "tests/system/scene.hpp"

#include <algorithm>
#include <csignal>
#include <map>
#include <set>

namespace actorrun::test::live_test {

namespace {

/// The pids of those that are in both.
std::set<pid_t> unchanged(const worker_records& before,
                          const worker_records& after) {
  auto out = std::set<pid_t>{};
  for (const auto& x : before)
    for (const auto& y : after)
      if (x.pid == y.pid)
        out.insert(x.pid);
  return out;
}

/// No stamp of the old generation is younger than one of the new one.
bool is_apart(const worker_records& old, const worker_records& fresh) {
  return last_of(old) < first_of(fresh);
}

/// The spares that were ready.
std::set<pid_t> pids_in(const std::string& output) {
  constexpr auto sign = std::string_view{"is ready (pid "};
  auto out = std::set<pid_t>{};
  for (auto at = output.find(sign); at != output.npos;
       at = output.find(sign, at + 1))
    out.insert(std::stoi(output.substr(at + sign.size())));
  return out;
}

} // namespace

TEST_CASE_METHOD(scene, "live: a worker fails, and its peers go on", "[live]") {
  auto& agent_a = agent(
    {.nodes = "1", .restart_count_max = 1, .slots = 4, .worker = {"--live"}});
  const auto before = await_world(4);
  SECTION("one of them") {
    order_exit(before[2].pid, 3);
    const auto after = await_world(4, before[0].generation);
    CHECK(unchanged(before, after).size() == 3);
    CHECK(after[2].pid != before[2].pid); // It has the vacant rank.
    for (const auto& x : after) {
      CHECK(x.restart_count == 1);
      CHECK(x.survivors == "0-1,3-3");
      CHECK(x.master_port != before[0].master_port);
    }
    CHECK(is_apart(workers_of(before[0].generation), after));
  }
  SECTION("that with rank 0") {
    order_exit(before[0].pid, 3);
    const auto after = await_world(4, before[0].generation);
    const auto stayed = unchanged(before, after);
    CHECK(stayed.size() == 3);
    CHECK(stayed.contains(after[0].pid));
    CHECK(after[0].pid == before[1].pid);
    CHECK(after[0].local_rank == 1); // It keeps its devices.
    CHECK(after[1].local_rank == 0);
    CHECK(after[0].survivors == "0-0,2-3");
  }
  SECTION("and none of them knows of it") {
    ::kill(before[3].pid, SIGKILL);
    const auto after = await_world(4, before[0].generation);
    CHECK(unchanged(before, after).size() == 3);
  }
  order_end();
  CHECK(agent_a.wait() == 0);
}

TEST_CASE_METHOD(scene, "live: a node dies, and the others go on", "[live]") {
  const auto options = agent_options{.nodes = "1:3", .worker = {"--live"}};
  auto& a = agent(options);
  auto& b = agent(options);
  auto& c = agent(options);
  const auto before = await_world(6);
  b.signal(SIGKILL);
  const auto after = await_world(4, before[0].generation);
  CHECK(unchanged(before, after).size() == 4);
  CHECK(after[0].survivors == "0-3");
  CHECK(after[0].restart_count == 0);
  CHECK(is_apart(workers_of(before[0].generation), after));
  order_end();
  CHECK(a.wait() == 0);
  CHECK(c.wait() == 0);
}

TEST_CASE_METHOD(scene, "live: a joiner comes to workers that go on",
                 "[live]") {
  const auto options = agent_options{.nodes = "1:2", .worker = {"--live"}};
  auto& a = agent(options);
  const auto alone = await_world(2);
  auto& b = agent(options);
  const auto both = await_world(4, alone[0].generation);
  CHECK(unchanged(alone, both).size() == 2);
  CHECK(both[0].survivors == "0-1");
  // Each file of the same process has its own generation.
  for (const auto& x : workers_of(alone[0].generation))
    CHECK(x.world_size == 2);
  order_end();
  CHECK(a.wait() == 0);
  CHECK(b.wait() == 0);
}

TEST_CASE_METHOD(scene, "live: others of the node are restarted as usual",
                 "[live]") {
  // Rank 1 does not know how to live through a change.
  auto& x = agent({.nodes = "1",
                   .restart_count_max = 1,
                   .slots = 2,
                   .more = {"--shutdown-timeout=2"},
                   .worker = {"--live-deaf"}});
  const auto before = await_world(2);
  order_exit(before[1].pid, 3);
  // It does not park in the grace period, is killed, and that costs nothing.
  const auto after = await_world(2, before[0].generation);
  CHECK(unchanged(before, after).empty());
  CHECK(after[0].restart_count == 1);
  CHECK(after[0].survivors.empty());
  CHECK(is_apart(workers_of(before[0].generation), after));
  order_end();
  CHECK(x.wait() == 0);
}

TEST_CASE_METHOD(scene, "live: one that dies parked is started anew",
                 "[live]") {
  // The first node waits for the second, whose workers end slowly.
  auto& a = agent({.nodes = "1:3", .worker = {"--live-dies"}});
  auto& b = agent({.nodes = "1:3", .worker = {"--slow-stop-ms=600"}});
  const auto before = await_world(4);
  auto& c = agent({.nodes = "1:3"});
  const auto after = await_world(6, before[0].generation);
  CHECK(unchanged(before, after).empty());
  CHECK(after[0].restart_count == 0);
  CHECK(after[0].survivors.empty());
  order_end();
  CHECK(a.wait() == 0);
  CHECK(b.wait() == 0);
  CHECK(c.wait() == 0);
}

TEST_CASE_METHOD(scene,
                 "live: parked workers end with the job and with their "
                 "agent",
                 "[live]") {
  auto& a = agent({.nodes = "2:2", .worker = {"--live"}});
  auto& b = agent({.nodes = "2:2", .worker = {"--live"}});
  const auto before = await_world(4);
  b.signal(SIGKILL);
  // Too few nodes are left: the workers of the first wait.
  await_status([](const json& x) { return x["phase"] == "gathering"; });
  auto left = 0;
  for (const auto& x : before)
    left += alive(x.pid) ? 1 : 0;
  CHECK(left == 2);
  SECTION("that is killed") {
    a.signal(SIGKILL);
    a.wait();
  }
  SECTION("that is asked to end") {
    a.signal(SIGTERM);
    CHECK(a.wait() == 128 + SIGTERM);
  }
  require(eventually([&] {
            return std::none_of(before.begin(), before.end(),
                                [](const auto& x) { return alive(x.pid); });
          }),
          "no worker is left");
}

TEST_CASE_METHOD(scene,
                 "live: one that has not parked is killed at the fence, "
                 "and one that has is not",
                 "[live]") {
  const auto options = agent_options{.nodes = "1:2", .worker = {"--live"}};
  auto& a = agent(options);
  auto& b = agent(options);
  const auto before = await_world(4);
  // No coordinator answers the second node any more: its workers run, and are
  // killed.
  a.signal(SIGSTOP);
  const auto& mine = before[2];
  require(eventually([&] { return !alive(mine.pid); }), "the fence");
  a.signal(SIGCONT);
  await_world(4, before[0].generation);
  order_end();
  CHECK(a.wait() == 0);
  CHECK(b.wait() == 0);
}

TEST_CASE_METHOD(scene, "live: twenty changes in a row", "[live]") {
  auto& x = agent(
    {.nodes = "1", .restart_count_max = 20, .slots = 4, .worker = {"--live"}});
  auto last = await_world(4);
  for (auto i = 0U; i < 20; ++i) {
    order_exit(last[i % 4].pid, 3);
    const auto next = await_world(4, last[0].generation);
    CHECK(unchanged(last, next).size() == 3);
    CHECK(is_apart(workers_of(last[0].generation), next));
    last = next;
  }
  order_end();
  CHECK(x.wait() == 0);
}

TEST_CASE_METHOD(scene, "live: T3 spares take the places of dead workers",
                 "[live]") {
  auto& x = agent({.nodes = "1",
                   .restart_count_max = 9,
                   .slots = 3,
                   .more = {"--spares=2"},
                   .worker = {"--live"}});
  auto last = await_world(3);
  const auto spares = [&](size_t count) {
    require(eventually(
              [&] { return count_of(x.output(), "is ready (pid ") == count; }),
            "spares are ready");
    return pids_in(x.output());
  };
  const auto first = spares(2);
  CHECK(workers_of(last[0].generation).size() == 3); // They have no rank.
  SECTION("of one") {
    order_exit(last[2].pid, 3);
    const auto next = await_world(3, last[0].generation);
    CHECK(unchanged(last, next).size() == 2);
    CHECK(first.contains(next[2].pid));
    CHECK(next[2].local_rank == 2);
    CHECK(next[2].survivors == "0-1");
    CHECK(is_apart(workers_of(last[0].generation), next));
    last = next;
    spares(3); // Another is started for the next failure.
  }
  SECTION("of two at once") {
    order_exit(last[0].pid, 3);
    order_exit(last[1].pid, 3);
    CHECK(all_dead({last[0], last[1]}));
    const auto next = await_world(3, last[0].generation);
    // The second may be replaced by a spare that has been started since.
    const auto ready = pids_in(x.output());
    for (const auto& worker : next)
      CHECK((worker.pid == last[2].pid || ready.contains(worker.pid)));
    last = next;
  }
  SECTION("again and again") {
    for (auto i = size_t{0}; i < 5; ++i) {
      const auto ready = spares(2 + i);
      order_exit(last[i % 3].pid, 3);
      const auto next = await_world(3, last[0].generation);
      CHECK(unchanged(last, next).size() == 2);
      for (const auto& worker : next)
        CHECK((unchanged(last, next).contains(worker.pid)
               || ready.contains(worker.pid)));
      last = next;
    }
  }
  SECTION("unless they are dead themselves") {
    for (const auto pid : first)
      ::kill(pid, SIGKILL);
    CHECK(x.says("spare worker 0 has ended before its first generation, by "
                 "signal 9"));
    CHECK(x.says("spare worker 1 has ended"));
    order_exit(last[1].pid, 3);
    const auto next = await_world(3, last[0].generation);
    CHECK(unchanged(last, next).size() == 2);
    spares(4);
  }
  const auto all = pids_in(x.output());
  order_end();
  CHECK(x.wait() == 0);
  for (const auto pid : all)
    CHECK_FALSE(alive(pid));
}

} // namespace actorrun::test::live_test
