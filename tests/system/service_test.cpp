// Tests what a service manager such as systemd hears of the real programs.
#include "tests/support/catch.hpp"
#include "tests/support/fake_service_manager.hpp"
#include "tests/system/scene.hpp"

#include <csignal>
#include <string>

namespace actorrun::test::service_test {

namespace {

using variables = std::map<std::string, std::string>;

} // namespace

TEST_CASE_METHOD(
  scene,
  "service: a node reports its start, its generations, that it is"
  " alive, and its end",
  "[service]") {
  auto manager = fake_service_manager{folder() + "/notify"};
  REQUIRE(manager.is_bound());
  auto& node = run(
    {"--standalone", "--nproc-per-node=2", "--max-restarts=1",
     "--shutdown-timeout=7", "--no-python", "sleep", "1000"},
    {{"NOTIFY_SOCKET", folder() + "/notify"}, {"WATCHDOG_USEC", "300000"}});
  REQUIRE(eventually([&] { return manager.has("READY=1"); }));
  REQUIRE(eventually(
    [&] { return manager.has("STATUS=generation 1: ranks 0-1 of 2"); }));
  CHECK(eventually([&] { return manager.count("WATCHDOG=1") >= 3; }));
  CHECK_FALSE(manager.has("STOPPING=1"));
  const auto before = await_status([](const json& x) {
    return x["phase"] == "running" && x["agents"][0]["workers"].size() == 2;
  });
  ::kill(before["agents"][0]["workers"][1]["pid"].get<pid_t>(), SIGKILL);
  CHECK(eventually(
    [&] { return manager.has("STATUS=generation 2: ranks 0-1 of 2"); }));
  CHECK(manager.has("STATUS=generation 1 is over: rank 1 "));
  node.signal(SIGTERM);
  CHECK(node.wait() == 128 + SIGTERM);
  CHECK(manager.count("READY=1") == 1);
  CHECK(manager.count("STOPPING=1") == 1);
  CHECK(manager.latest("EXTEND_TIMEOUT_USEC=")
        == "EXTEND_TIMEOUT_USEC=17000000");
}

TEST_CASE_METHOD(scene,
                 "service: a stopped agent gives no sign of life, and one that"
                 " goes on does",
                 "[service]") {
  auto manager = fake_service_manager{folder() + "/notify"};
  auto& node = run(
    {"--standalone", "--no-python", "sleep", "1000"},
    {{"NOTIFY_SOCKET", folder() + "/notify"}, {"WATCHDOG_USEC", "90000"}});
  REQUIRE(eventually([&] { return manager.has("WATCHDOG=1"); }));
  node.signal(SIGSTOP);
  const auto is_stopped = [&] {
    return content_of("/proc/" + std::to_string(node.pid()) + "/stat")
             .find(") T ")
           != std::string::npos;
  };
  REQUIRE(eventually(is_stopped));
  const auto count = manager.count("WATCHDOG=1");
  const auto until = now_ns() + 500'000'000;
  CHECK(eventually([&] { return now_ns() > until; }));
  CHECK(manager.count("WATCHDOG=1") == count);
  node.signal(SIGCONT);
  CHECK(eventually([&] { return manager.count("WATCHDOG=1") > count; }));
}

TEST_CASE_METHOD(scene,
                 "service: workers get nothing of the manager's, and with"
                 " --watchdog a socket of ours",
                 "[service]") {
  auto manager = fake_service_manager{folder() + "/notify"};
  const auto inherited = variables{{"NOTIFY_SOCKET", folder() + "/notify"},
                                   {"WATCHDOG_USEC", "30000000"}};
  const auto show = [&](words options) {
    options.insert(options.begin(), "--standalone");
    for (const auto* x : {"--no-python", "sh", "-c", "env"})
      options.push_back(x);
    auto& node = run(options, inherited);
    CHECK(node.wait() == 0);
    return node.output();
  };
  const auto without = show({});
  CHECK(count_of(without, "RANK=0") > 0);
  CHECK(count_of(without, "NOTIFY_SOCKET") == 0);
  CHECK(count_of(without, "WATCHDOG_") == 0);
  const auto with = show({"--watchdog=20s"});
  CHECK(count_of(with, "NOTIFY_SOCKET=" + folder() + "/notify\n") == 0);
  CHECK(count_of(with, "NOTIFY_SOCKET=/") == 1);
  CHECK(count_of(with, "WATCHDOG_USEC=20000000\n") == 1);
  CHECK(count_of(with, "WATCHDOG_PID") == 0);
}

TEST_CASE_METHOD(scene, "service: a node that cannot start is never ready",
                 "[service]") {
  auto manager = fake_service_manager{folder() + "/notify"};
  auto& node
    = run({"--standalone", "--no-python", "--metrics-port=192.0.2.1:1", "true"},
          {{"NOTIFY_SOCKET", folder() + "/notify"}});
  CHECK(node.wait() == 6);
  CHECK(manager.lines().empty());
}

TEST_CASE_METHOD(scene,
                 "service: a standby and a coordinator on its own are ready"
                 " before they have work",
                 "[service]") {
  auto first = fake_service_manager{folder() + "/first"};
  auto second = fake_service_manager{folder() + "/second"};
  auto& standby = run(
    {"--nnodes=2", "--rdzv-endpoint=" + endpoint(), "--rdzv-id=job",
     "--rdzv-conf=is_host=0", "--no-python", "true"},
    {{"NOTIFY_SOCKET", folder() + "/first"}, {"WATCHDOG_USEC", "300000"}});
  CHECK(eventually([&] { return first.has("READY=1"); }));
  CHECK(eventually([&] { return first.count("WATCHDOG=1") >= 2; }));
  CHECK(first.latest("STATUS=") == "STATUS=waits for a generation");
  auto& coordinator = start(
    {ACTORCTL_PROGRAM, "coordinator", "--nnodes=2",
     "--rdzv-endpoint=" + endpoint(), "--rdzv-id=job"},
    {{"NOTIFY_SOCKET", folder() + "/second"}, {"WATCHDOG_USEC", "300000"}});
  CHECK(eventually([&] { return second.has("READY=1"); }));
  CHECK(eventually([&] { return second.count("WATCHDOG=1") >= 2; }));
  CHECK(second.latest("STATUS=") == "STATUS=coordinates job");
  coordinator.signal(SIGTERM);
  CHECK(coordinator.wait() == 128 + SIGTERM);
  CHECK(second.has("STOPPING=1"));
  standby.signal(SIGTERM);
  CHECK(standby.wait() == 128 + SIGTERM);
  CHECK(first.has("STOPPING=1"));
}

} // namespace actorrun::test::service_test
