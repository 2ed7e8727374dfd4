// Tests how operators steer a job that runs.
#include "tests/support/catch.hpp"
#include "tests/system/scene.hpp"
#include "tests/system/terminal.hpp"

#include <csignal>
#include <string>

#include <sys/stat.h>

namespace actorrun::test::steering_test {

namespace {

/// Exits with 0 on the notice signal, and leaves a file that says so; else sleeps.
constexpr auto noticing_worker = "trap 'touch noticed-$RANK; exit 0' USR2; "
                                 "echo up > up-$ACTORRUN_GENERATION-$RANK;"
                                 " while :; do sleep 0.05; done";

struct steering_scene : scene {
  /// Runs actorctl with these words. @returns its output
  std::string control(words more) {
    more.insert(more.begin(), ACTORCTL_PROGRAM);
    return read(std::move(more), &code);
  }

  json await_nodes(uint32_t count) {
    return await_status([count](const json& x) {
      return x["phase"] == "running" && x["world_size"] == 2 * count;
    });
  }

  int code = -1; ///< The last exit code.
};

/// The host of all agents here is one, so nodes are named by their ranks.
std::string agent_of(const json& status, uint32_t rank) {
  for (const auto& x : status["agents"])
    if (x["node_rank"] == rank)
      return x["agent"];
  return "none";
}

} // namespace

TEST_CASE_METHOD(steering_scene,
                 "steering: a drained node's workers get notice, the others go "
                 "on, at no cost",
                 "[steering]") {
  const auto options = words{"--nnodes=1:3",
                             "--nproc-per-node=2",
                             "--notice-signal=SIGUSR2",
                             "--rdzv-endpoint=" + endpoint(),
                             "--rdzv-id=job",
                             "--no-python",
                             "sh",
                             "-c",
                             noticing_worker};
  auto first = options;
  first.insert(first.begin(), "--rdzv-conf=is_host=1,quiet_period=0.2");
  auto other = options;
  other.insert(other.begin(), "--rdzv-conf=is_host=0");
  run(first);
  auto& b = run(other);
  auto& c = run(other);
  const auto before = await_nodes(3);
  const auto said = control({"drain", "1", "--deadline=30s"});
  CHECK(code == 0);
  CHECK(count_of(said, "leaves in 30.0 s at the latest") == 1);
  const auto after = await_nodes(2);
  CHECK(after["restarts"] == 0);
  CHECK(after["generation"] > before["generation"]);
  // One of the two is gone, in order.
  REQUIRE(eventually([&] { return !b.running() || !c.running(); }));
  auto& gone = b.running() ? c : b;
  CHECK(gone.wait() == 0);
  CHECK(count_of(gone.output(), "its workers get SIGUSR2") == 1);
  CHECK(count_of(gone.output(), "left the job, as an operator has asked") == 1);
  // The status may know of a worker that has not written yet.
  const auto up = folder() + "/up-"
                  + std::to_string(after["generation"].get<uint64_t>()) + "-0";
  CHECK(eventually([&] { return !content_of(up).empty(); }));
  const auto journal = control({"journal"});
  CHECK(count_of(journal, "asks: drain 1 in 30.0 s; done") == 1);
  // The last one is the coordinator's.
  control({"drain", agent_of(await_nodes(2), 1)});
  CHECK(code == 0);
  await_nodes(1);
  CHECK(count_of(control({"drain", "0"}), "hosts the coordinator") == 1);
  CHECK(code == 1);
  control({"stop", "--reason=enough"});
  CHECK(code == 0);
  CHECK(programs().front().wait() == 143);
  CHECK(count_of(control({"why"}), "enough") == 1);
}

TEST_CASE_METHOD(steering_scene, "steering: a job that needs a node keeps it",
                 "[steering]") {
  agent({});
  agent({});
  await_world(4);
  const auto said = control({"drain", "1"});
  CHECK(code == 1);
  CHECK(count_of(said, "refused: without agent") == 1);
  CHECK(count_of(said, "the job needs, which is 2") == 1);
  const auto waits = [&] {
    return count_of(control({"status"}), "drain waits for a replacement");
  };
  CHECK(
    count_of(control({"drain", "1", "--wait-for-replacement"}), "--cancel 1")
    == 1);
  CHECK(code == 0);
  CHECK(waits() == 1);
  CHECK(count_of(control({"why"}), "waits for a replacement, to leave") == 1);
  CHECK(count_of(control({"top", "--once"}), "drain waits") == 1);
  CHECK(count_of(control({"drain", "1", "--cancel"}), "stays") == 1);
  CHECK(code == 0);
  CHECK(waits() == 0);
  control({"drain", "1", "--cancel"});
  CHECK(code == 1);
  control({"stop"});
  CHECK(code == 0);
}

TEST_CASE_METHOD(steering_scene, "steering: a job shrinks and grows again",
                 "[steering]") {
  for (auto i = 0; i < 3; ++i)
    agent({.nodes = "1:3"});
  const auto first = await_world(6);
  const auto said = control({"resize", "1:2"});
  CHECK(code == 0);
  CHECK(count_of(said, "1 node stands by") == 1);
  const auto small = await_world(4, first[0].generation);
  CHECK(small[0].restart_count == 0);
  control({"resize", "1:3"});
  CHECK(code == 0);
  const auto large = await_world(6, small[0].generation);
  control({"restart", "--reason=again"});
  CHECK(code == 0);
  const auto again = await_world(6, large[0].generation);
  CHECK(again[0].restart_count == 0);
  control({"resize", "4:5"});
  CHECK(code == 1);
  control({"resize", "3:2"});
  CHECK(code == 2);
  CHECK(count_of(control({"loglevel", "debug"}), "3 nodes and the coordinator")
        == 1);
  for (auto& node : programs())
    if (count_of(node.output(), "actorrun") > 0)
      CHECK(node.says("the log level is DEBUG now"));
  order_end();
  CHECK(programs().front().wait() == 0);
}

TEST_CASE_METHOD(steering_scene, "steering: hosts are excluded and included",
                 "[steering]") {
  agent({.nodes = "1:2"});
  await_world(2);
  const auto host = status()["agents"][0]["host"].get<std::string>();
  control({"exclude", host});
  CHECK(code == 1); // No node would be left.
  CHECK(count_of(control({"exclude", "n9", "--reason=bad disk"}),
                 "no node of it is here")
        == 1);
  CHECK(count_of(control({"include", "n9"}), "may take part again") == 1);
  CHECK(count_of(control({"include", "n9"}), "n9 is not excluded") == 1);
  CHECK(code == 1);
  order_end();
}

TEST_CASE_METHOD(steering_scene,
                 "steering: a host stays excluded when the coordinator is "
                 "started again (W7)",
                 "[steering]") {
  const auto options = agent_options{.nodes = "1"};
  auto& first = coordinator(options);
  REQUIRE(first.says("listens on"));
  auto& node = agent(options);
  await_world(2);
  control({"exclude", "n9", "--reason=bad disk"});
  REQUIRE(code == 0);
  first.signal(SIGKILL);
  first.wait();
  auto& second = coordinator(options);
  REQUIRE(second.says("listens on"));
  await_status([](const json& x) { return x["phase"] == "running"; });
  CHECK(count_of(control({"exclude", "n9"}), "bad disk; it stays so") == 1);
  CHECK(count_of(control({"include", "n9"}), "may take part again") == 1);
  order_end();
  CHECK(node.wait() == 0);
}

// What it leaves behind then is a tombstone, which has neither: the agents know.
TEST_CASE_METHOD(steering_scene,
                 "steering: a drain that waits and an excluded host outlive a "
                 "coordinator without a journal (N6)",
                 "[steering]") {
  const auto options = agent_options{.nodes = "2:3"};
  auto of_coordinator = options;
  of_coordinator.more = {"--journal=none"};
  auto& first = coordinator(of_coordinator);
  REQUIRE(first.says("listens on"));
  auto& a = agent(options);
  auto& b = agent(options);
  const auto before = await_world(4);
  control({"exclude", "n9", "--reason=bad disk"});
  REQUIRE(code == 0);
  control({"drain", "1", "--wait-for-replacement"});
  REQUIRE(code == 0);
  // What is told later comes later.
  control({"loglevel", "debug"});
  REQUIRE(a.says("the log level is DEBUG now"));
  REQUIRE(b.says("the log level is DEBUG now"));
  first.signal(SIGKILL);
  first.wait();
  auto& second = coordinator(of_coordinator);
  const auto pid = second.pid();
  await_status([&](const json& x) {
    return x["phase"] == "running" && x["coordinator"]["pid"] == pid
           && x["generation"] == before[0].number;
  });
  CHECK(count_of(control({"exclude", "n9"}), "bad disk; it stays so") == 1);
  auto& third = agent(options);
  REQUIRE(eventually([&] { return !a.running() || !b.running(); }));
  auto& left = a.running() ? b : a;
  auto& other = a.running() ? a : b;
  CHECK(left.wait() == 0);
  await_world(4, before[0].generation);
  order_end();
  CHECK(other.wait() == 0);
  CHECK(third.wait() == 0);
  CHECK(second.wait() == 0);
}

TEST_CASE_METHOD(steering_scene,
                 "steering: from afar only those steer that have a secret",
                 "[steering]") {
  auto& a = agent({.nodes = "1:2"});
  await_world(2);
  const auto remote = words{"--rdzv-endpoint=" + endpoint(), "--rdzv-id=job"};
  auto ask = words{"restart"};
  ask.insert(ask.end(), remote.begin(), remote.end());
  const auto said = control(ask);
  CHECK(code == 1);
  CHECK(count_of(said, "this job has no secret") == 1);
  control({"stop"});
  CHECK(code == 0);
  CHECK(a.wait() == 143);
}

TEST_CASE_METHOD(steering_scene,
                 "steering: an agent passes on what only the coordinator does "
                 "(P6)",
                 "[steering]") {
  const auto file = write("secret", "open sesame\n");
  REQUIRE(::chmod(file.c_str(), 0600) == 0);
  const auto options
    = agent_options{.nodes = "2", .more = {"--secret-file=" + file}};
  agent(options);
  auto& other = agent(options);
  const auto before = await_world(4);
  const auto by_agent = std::to_string(other.pid());
  CHECK(count_of(control({"restart", by_agent}), "the next one follows") == 1);
  CHECK(code == 0);
  await_world(4, before[0].generation);
  CHECK(count_of(control({"why", "--journal=" + folder() + "/none", by_agent}),
                 "Generation 1 ended: restarted by ")
        == 1);
  control({"stop", by_agent});
  CHECK(code == 0);
  for (auto& x : programs())
    CHECK(x.wait() == 143);
}

TEST_CASE_METHOD(steering_scene, "steering: with the secret others steer, too",
                 "[steering]") {
  const auto file = write("secret", "open sesame\n");
  REQUIRE(::chmod(file.c_str(), 0600) == 0);
  const auto secret = "--secret-file=" + file;
  auto& a = agent({.nodes = "1:2", .more = {secret}});
  await_world(2);
  control({"stop", secret, "--rdzv-endpoint=" + endpoint(), "--rdzv-id=job"});
  CHECK(code == 0);
  CHECK(a.wait() == 143);
}

TEST_CASE_METHOD(steering_scene,
                 "steering: on a terminal there is a question before work is "
                 "lost (P5)",
                 "[steering]") {
  auto& a = agent({.nodes = "1", .job = "big"});
  const auto before = await_world(2);
  const auto answered = [&](const words& command, std::string_view answer) {
    auto all = words{ACTORCTL_PROGRAM};
    all.insert(all.end(), command.begin(), command.end());
    auto x = program_at_terminal{all, environment()};
    if (!answer.empty()) {
      x.await("Work since the last checkpoint is lost. [y/N] ");
      x.type(answer);
    }
    code = x.wait();
    return x.shown();
  };
  constexpr auto end_of_input = "\x04";
  for (const auto* no : {"\n", "n\n", "big\n", end_of_input}) {
    const auto said = answered({"restart", "big"}, no);
    CHECK(code == 9);
    CHECK(count_of(said, "Restart all 2 workers of big?") == 1);
    CHECK(count_of(said, "nothing was done") == 1);
  }
  CHECK(count_of(answered({"stop"}, "n\n"), "Stop big and its 2 workers?")
        == 1);
  CHECK(code == 9);
  CHECK(await_world(2)[0].generation == before[0].generation);
  answered({"restart", "big"}, "y\n");
  CHECK(code == 0);
  const auto second = await_world(2, before[0].generation);
  CHECK(count_of(answered({"restart", "--yes", "big"}, ""), "[y/N]") == 0);
  CHECK(code == 0);
  await_world(2, second[0].generation);
  // What loses nothing, and a job that is not there, are not asked about.
  CHECK(count_of(answered({"loglevel", "debug", "big"}, ""), "[y/N]") == 0);
  CHECK(code == 0);
  CHECK(count_of(answered({"stop", "job1"}, ""), "no job 'job1'") == 1);
  CHECK(code == 3);
  // Without a terminal there is no question.
  CHECK(count_of(control({"stop", "big"}), "[y/N]") == 0);
  CHECK(code == 0);
  CHECK(a.wait() == 143);
}

TEST_CASE_METHOD(steering_scene, "steering: without a job nothing is done",
                 "[steering]") {
  control({"restart"});
  CHECK(code == 3);
  control({"drain"});
  CHECK(code == 2);
}

} // namespace actorrun::test::steering_test
