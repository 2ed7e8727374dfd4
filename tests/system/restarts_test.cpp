// Workers that fail: who restarts, the cost, and the final report.
#include "tests/support/catch.hpp"
#include "tests/system/scene.hpp"

#include <csignal>

namespace actorrun::test::restarts_test {

namespace {

std::string host_name(scene& uut) {
  auto name = uut.read({"uname", "-n"});
  while (!name.empty() && name.back() == '\n')
    name.pop_back();
  return name;
}

} // namespace

TEST_CASE_METHOD(scene, "job: a failed worker restarts the group on all nodes",
                 "[restarts]") {
  auto& a = agent({.restart_count_max = 2});
  auto& b = agent({.restart_count_max = 2});
  const auto first = await_world(4);
  for (const auto& x : first)
    CHECK(x.restart_count == 0);
  order_exit(first[3].pid, 7);
  const auto second = await_world(4, first[0].generation);
  CHECK(all_dead(first));
  CHECK(last_of(records_of(first)) < first_of(second));
  for (const auto& x : second) {
    CHECK(x.restart_count == 1);
    CHECK(x.master_port == second[0].master_port);
    CHECK(x.master_port != first[0].master_port);
  }
  await_status([](const json& x) {
    return x["phase"] == "running" && x["restarts"] == 1
           && x["last_failure"]["code"] == 7 && x["last_failure"]["rank"] == 3;
  });
  order_end();
  CHECK(a.wait() == 0);
  CHECK(b.wait() == 0);
}

TEST_CASE_METHOD(scene, "job: failures on two nodes at once cost one restart",
                 "[restarts]") {
  auto& a = agent({.restart_count_max = 1, .worker = {"--slow-stop-ms=200"}});
  auto& b = agent({.restart_count_max = 1, .worker = {"--slow-stop-ms=200"}});
  const auto first = await_world(4);
  ::kill(first[0].pid, SIGKILL);
  ::kill(first[3].pid, SIGKILL);
  const auto second = await_world(4, first[0].generation);
  for (const auto& x : second)
    CHECK(x.restart_count == 1);
  order_end();
  CHECK(a.wait() == 0);
  CHECK(b.wait() == 0);
}

TEST_CASE_METHOD(scene, "job: without a restart left it fails on every node",
                 "[restarts]") {
  auto& a = agent({.restart_count_max = 1});
  auto& b = agent({.restart_count_max = 1});
  const auto first = await_world(4);
  order_exit(first[1].pid, 3);
  const auto second = await_world(4, first[0].generation);
  order_exit(second[2].pid, 41);
  CHECK(a.wait() == 1);
  CHECK(b.wait() == 1);
  const auto reason = "first failure: rank 2 (local rank "
                      + std::to_string(second[2].local_rank) + ", pid "
                      + std::to_string(second[2].pid) + ") on "
                      + host_name(*this) + " exited with code 41";
  CHECK(count_of(a.output(), reason) == 1);
  CHECK(count_of(b.output(), reason) == 1);
  CHECK(all_dead(records()));
}

TEST_CASE_METHOD(scene, "job: the first failure names the signal",
                 "[restarts]") {
  auto& a = agent({});
  auto& b = agent({});
  const auto first = await_world(4);
  ::kill(first[3].pid, SIGSEGV);
  CHECK(a.wait() == 1);
  CHECK(b.wait() == 1);
  for (auto* x : {&a, &b}) {
    CHECK(count_of(x->output(), "first failure: rank 3 ") == 1);
    CHECK(count_of(x->output(), "killed by SIGSEGV (signal 11)") >= 1);
    // The others were stopped by order: they have not failed.
    CHECK(count_of(x->output(), "SIGTERM") == 0);
  }
}

TEST_CASE_METHOD(scene, "job: a worker that ignores the stop signal is killed",
                 "[restarts]") {
  auto& a = agent({.nodes = "1",
                   .restart_count_max = 1,
                   .more = {"--shutdown-timeout=1"},
                   .worker = {"--ignore-term"}});
  const auto first = await_world(2);
  const auto killed = now_ns();
  ::kill(first[0].pid, SIGKILL);
  const auto second = await_world(2, first[0].generation);
  const auto grace = last_of({record_of(first[1].pid)}) - killed;
  CHECK(grace > 900'000'000);
  CHECK(grace < 3'000'000'000);
  CHECK(first_of(second) > last_of({record_of(first[1].pid)}));
  order_end();
  CHECK(a.wait() == 0);
}

TEST_CASE_METHOD(scene,
                 "job: child processes of workers end with the generation",
                 "[restarts]") {
  auto& a = agent(
    {.nodes = "1", .restart_count_max = 1, .slots = 1, .worker = {"--stray"}});
  const auto worker = await_world(1)[0];
  REQUIRE(eventually([&] { return records().size() == 2; }));
  const auto first = records();
  order_exit(worker.pid, 9);
  await_world(1, 1);
  CHECK(all_dead(first));
  order_end();
  CHECK(a.wait() == 0);
  CHECK(all_dead(records()));
}

TEST_CASE_METHOD(scene, "job: workers that succeed one by one are no failure",
                 "[restarts]") {
  auto& a = agent({});
  auto& b = agent({});
  const auto first = await_world(4);
  for (auto rank : {3u, 0u, 2u})
    order_exit(first[rank].pid, 0);
  CHECK(all_dead({first[3], first[0], first[2]}));
  CHECK(alive(first[1].pid));
  CHECK(a.running());
  CHECK(b.running());
  order_exit(first[1].pid, 0);
  CHECK(a.wait() == 0);
  CHECK(b.wait() == 0);
}

} // namespace actorrun::test::restarts_test
