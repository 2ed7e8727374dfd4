// Stopped agents: their workers die on time, and no restart is used up.
#include "tests/support/catch.hpp"
#include "tests/system/scene.hpp"

#include <csignal>

namespace actorrun::test::lease_test {

TEST_CASE_METHOD(scene, "agent stopped: its workers end before others start",
                 "[lease]") {
  auto& a = agent({.nodes = "1:2"});
  auto& b = agent({.nodes = "1:2"});
  const auto before = await_world(4);
  const auto stopped = now_ns();
  b.signal(SIGSTOP);
  const auto after = await_world(2, before[0].generation);
  CHECK(after[0].restart_count == 0);
  CHECK(all_dead(before));
  CHECK(last_of(records_of(before)) < first_of(after));
  CHECK(first_of(after) - stopped < 4'000'000'000);
  b.signal(SIGCONT);
  const auto healed = await_world(4, after[0].generation);
  CHECK(healed[0].restart_count == 0);
  CHECK(last_of(records_of(after)) < first_of(healed));
  order_end();
  CHECK(a.wait() == 0);
  CHECK(b.wait() == 0);
}

TEST_CASE_METHOD(scene, "agent stopped for a moment: nothing changes",
                 "[lease]") {
  auto& a = agent({.nodes = "1:2"});
  auto& b = agent({.nodes = "1:2"});
  const auto before = await_world(4);
  const auto count = records().size(); // One of them may have begun alone.
  b.signal(SIGSTOP);
  // This test tries the length of the stop.
  CHECK(b.wait(300ms) == program::still_running);
  b.signal(SIGCONT);
  // Longer than the lease of 1.2 s: a lost agent would show.
  CHECK_FALSE(eventually([&] { return records().size() != count; }, 1'500ms));
  for (const auto& x : before)
    CHECK(alive(x.pid));
  order_end();
  CHECK(a.wait() == 0);
  CHECK(b.wait() == 0);
}

TEST_CASE_METHOD(scene,
                 "host stopped: the others' workers do not outlast the fence",
                 "[lease]") {
  auto& a = agent({.nodes = "2:2"});
  auto& b = agent({.nodes = "2:2"});
  const auto before = await_world(4);
  a.signal(SIGSTOP);
  auto other = before;
  std::erase_if(other, [](const auto& x) { return x.node_rank == 0; });
  CHECK(all_dead(other));
  a.signal(SIGCONT);
  const auto after = await_world(4, before[0].generation);
  CHECK(after[0].restart_count == 0);
  CHECK(last_of(records_of(before)) < first_of(after));
  order_end();
  CHECK(a.wait() == 0);
  CHECK(b.wait() == 0);
}

} // namespace actorrun::test::lease_test
