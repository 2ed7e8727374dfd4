// A separate coordinator: the effects of its end and its return on the workers.
#include "tests/support/catch.hpp"
#include "tests/system/scene.hpp"

#include <algorithm>
#include <csignal>
#include <filesystem>

namespace actorrun::test::coordinator_test {

namespace {

struct hosted_scene : scene {
  agent_options options() {
    auto x = agent_options{.nodes = "2:4", .restart_count_max = 3};
    x.conf = ",read_timeout=15";
    return x;
  }

  /// Two agents that do not host, and their four workers.
  worker_records start_job() {
    first = &coordinator(options());
    agents = {&agent(options()), &agent(options())};
    return await_world(4);
  }

  /// Ends the coordinator by `number`, starts another and checks that agents
  /// and workers are not affected.
  void replace_coordinator(int number, const worker_records& before) {
    const auto known = await_status([&](const json& x) {
      return x["phase"] == "running" && x["world_size"] == before.size();
    });
    first->signal(number);
    REQUIRE(first->wait() == (number == SIGKILL ? -SIGKILL : 128 + number));
    first = &coordinator(options());
    const auto pid = first->pid();
    const auto now = await_status([&](const json& x) {
      return x["phase"] == "running" && x["coordinator"]["pid"] == pid;
    });
    CHECK(now["generation"] == known["generation"]);
    CHECK(now["restarts"] == known["restarts"]);
    CHECK(now["nodes_max"] == known["nodes_max"]);
    CHECK(now["world_size"] == before.size());
    CHECK(by_agent(now) == by_agent(known));
    CHECK(pids_of(workers_of(before[0].generation)) == pids_of(before));
    for (const auto& x : before)
      CHECK(alive(x.pid));
  }

  /// What is known of the agents, in any order, but for what changes with time.
  static json by_agent(const json& status) {
    auto out = json::object();
    for (auto x : status["agents"]) {
      for (const auto* name : {"since_ms", "lease_age_ms", "vitals"})
        x.erase(name);
      // Each coordinator counts since it began.
      for (const auto* name : {"generation_count", "host_failure_count"})
        x.erase(name);
      for (auto& worker : x["workers"])
        worker = {worker["pid"], worker["rank"]};
      out[x["agent"].get<std::string>()] = x;
    }
    return out;
  }

  /// With its wardens, as far as anyone can see in one instant.
  static void kill_without_proof(program& x) {
    x.signal(SIGSTOP); // It would start another one.
    for (const auto pid : descendants(x.pid()))
      if (is_warden(pid))
        ::kill(pid, SIGKILL);
    x.signal(SIGKILL);
    x.wait();
  }

  program* first = nullptr;
  std::vector<program*> agents;
};

} // namespace

TEST_CASE_METHOD(hosted_scene, "coordinator: hosts a job and ends with it",
                 "[coordinator]") {
  start_job();
  order_end();
  for (auto* x : agents)
    CHECK(x->wait() == 0);
  CHECK(first->wait() == 0);
}

TEST_CASE_METHOD(hosted_scene, "coordinator killed: its successor goes on",
                 "[coordinator]") {
  const auto before = start_job();
  replace_coordinator(SIGKILL, before);
  order_end();
  for (auto* x : agents)
    CHECK(x->wait() == 0);
  CHECK(first->wait() == 0);
}

TEST_CASE_METHOD(hosted_scene, "coordinator terminated: its successor goes on",
                 "[coordinator]") {
  const auto before = start_job();
  replace_coordinator(SIGTERM, before);
  order_end();
  for (auto* x : agents)
    CHECK(x->wait() == 0);
}

// What the agents hear then moves their fences.
TEST_CASE_METHOD(hosted_scene,
                 "coordinator terminated: its machine says that it has ended",
                 "[coordinator]") {
  const auto before = start_job();
  first->signal(SIGTERM);
  REQUIRE(first->wait() == 128 + SIGTERM);
  for (auto* x : agents)
    CHECK(eventually([&] {
      return x->output().find("was the coordinator and has ended")
             != std::string::npos;
    }));
  first = &coordinator(options());
  await_status([&](const json& x) {
    return x["phase"] == "running" && x["coordinator"]["pid"] == first->pid();
  });
  CHECK(pids_of(workers_of(before[0].generation)) == pids_of(before));
  for (const auto& x : before)
    CHECK(alive(x.pid));
  order_end();
  for (auto* x : agents)
    CHECK(x->wait() == 0);
}

TEST_CASE_METHOD(hosted_scene,
                 "coordinator replaced: it knows the spent restarts",
                 "[coordinator]") {
  const auto before = start_job();
  order_exit(before[1].pid, 5);
  const auto second = await_world(4, before[0].generation);
  CHECK(second[0].restart_count == 1);
  replace_coordinator(SIGKILL, second);
  order_exit(second[2].pid, 6);
  const auto third = await_world(4, second[0].generation);
  for (const auto& x : third)
    CHECK(x.restart_count == 2);
  agents[1]->signal(SIGKILL);
  auto& c = agent(options());
  const auto fourth = await_world(4, third[0].generation);
  for (const auto& x : fourth)
    CHECK(x.restart_count == 2);
  order_end();
  CHECK(agents[0]->wait() == 0);
  CHECK(c.wait() == 0);
}

TEST_CASE_METHOD(hosted_scene, "coordinator away: a failure meanwhile counts",
                 "[coordinator]") {
  const auto before = start_job();
  first->signal(SIGKILL);
  first->wait();
  order_exit(before[0].pid, 5);
  REQUIRE(all_dead({before[0]}));
  first = &coordinator(options());
  const auto second = await_world(4, before[0].generation);
  for (const auto& x : second)
    CHECK(x.restart_count == 1);
  CHECK(last_of(records_of(before)) < first_of(second));
}

TEST_CASE_METHOD(hosted_scene, "coordinator away: the last worker succeeds",
                 "[coordinator]") {
  start_job();
  first->signal(SIGKILL);
  first->wait();
  order_end();
  REQUIRE(all_dead(records()));
  first = &coordinator(options());
  for (auto* x : agents)
    CHECK(x->wait() == 0);
  CHECK(first->wait() == 0);
}

TEST_CASE_METHOD(hosted_scene, "coordinator away: status reports it",
                 "[coordinator]") {
  const auto before = start_job();
  first->signal(SIGKILL);
  first->wait();
  const auto now = await_status([](const json& x) {
    return x["coordinator"]["pid"] == 0 && x["agents"].size() == 2;
  });
  CHECK(now["generation"] == before[0].number);
  CHECK(count_of(now["waiting_for"].get<std::string>(), "coordinator") >= 1);
  for (const auto& node : now["agents"])
    CHECK(node["workers"].size() == 2);
}

TEST_CASE_METHOD(
  hosted_scene,
  "coordinator killed: W8 without proof of its end the workers are killed, and "
  "no status shows them as if they ran",
  "[coordinator]") {
  const auto before = start_job();
  kill_without_proof(*first);
  REQUIRE(all_dead(before));
  await_status([](const json& x) {
    return x["coordinator"]["pid"] == 0 && x["agents"].size() == 2
           && std::ranges::all_of(x["agents"], [](const json& node) {
                return node["workers"].empty();
              });
  });
  first = &coordinator(options());
  const auto after = await_world(4, before[0].generation);
  CHECK(after[0].restart_count == 0);
  order_end();
  for (auto* x : agents)
    CHECK(x->wait() == 0);
}

// The numbers of nodes are the job's, and no command line's.
TEST_CASE_METHOD(
  hosted_scene,
  "coordinator killed: W3 after a resize the next one turns no member away, "
  "whichever numbers it was started with, and their workers live on",
  "[coordinator]") {
  start_job();
  auto code = -1;
  read({ACTORCTL_PROGRAM, "resize", "2:3"}, &code);
  REQUIRE(code == 0);
  auto resized = options();
  resized.nodes = "2:3";
  agents.push_back(&agent(resized));
  const auto before = await_world(6);
  SECTION("which its machine knows") {
    replace_coordinator(SIGKILL, before);
  }
  SECTION("also of one that has ended in order") {
    replace_coordinator(SIGTERM, before);
  }
  // Nor is who comes later.
  auto& fourth = agent(resized);
  auto& fifth = agent(options());
  await_status([](const json& x) { return x["agents"].size() == 5; });
  CHECK(records().size() == before.size() + 4); // Those before the third came.
  order_end();
  for (auto* x : agents)
    CHECK(x->wait() == 0);
  CHECK(fourth.wait() == 8);
  CHECK(fifth.wait() == 8);
}

namespace {

/// A job that has succeeded, of whose end one agent has not heard.
struct ended_scene : hosted_scene {
  agent_options options() {
    auto x = hosted_scene::options();
    x.conf += ",keep_alive_max_attempt=8,close_timeout=1";
    return x;
  }

  /// The coordinator has decided, told the other agent, and was killed.
  void end_job() {
    first = &coordinator(options());
    REQUIRE(first->says("listens on"));
    deaf = &agent(options());
    auto& other = agent(options());
    const auto workers = await_world(4);
    const auto below = descendants(deaf->pid());
    const auto is_of_deaf = [&](const worker_record& x) {
      return std::ranges::find(below, x.pid) != below.end();
    };
    REQUIRE(std::ranges::count_if(workers, is_of_deaf) == 2);
    for (const auto& x : workers)
      if (is_of_deaf(x))
        order_exit(x.pid, 0);
    await_status([](const json& x) {
      return std::ranges::count_if(
               x["agents"],
               [](const json& node) { return node["state"] == "succeeded"; })
             == 1;
    });
    deaf->signal(SIGSTOP);
    order_end();
    REQUIRE(other.wait() == 0);
    REQUIRE(first->running());
    first->signal(SIGKILL);
    REQUIRE(first->wait() == -SIGKILL);
  }

  program* deaf = nullptr;
};

} // namespace

TEST_CASE_METHOD(
  ended_scene,
  "coordinator killed: W4 at the end of a job, and started again, it ends",
  "[coordinator]") {
  end_job();
  const auto count = records().size();
  first = &coordinator(options());
  SECTION("and tells an agent that did not know") {
    deaf->signal(SIGCONT);
    CHECK(deaf->wait() == 0);
  }
  SECTION("also if no agent comes back") {
    deaf->signal(SIGKILL);
  }
  CHECK(first->wait() == 0);
  CHECK(records().size() == count);
}

// The moment is short: it is tried until the kill is quicker than the end.
TEST_CASE(
  "coordinator killed: W4 when all agents know how the job has ended and are "
  "gone, its successor ends, too",
  "[coordinator]") {
  for (auto attempt = 0; attempt < 40; ++attempt) {
    auto uut = scene{};
    auto x = agent_options{.nodes = "2", .conf = ",close_timeout=1"};
    x.job = "w4-" + std::to_string(attempt) + "-" + std::to_string(::getpid());
    auto& first = uut.coordinator(x);
    REQUIRE(first.says("listens on"));
    auto& a = uut.agent(x);
    auto& b = uut.agent(x);
    uut.await_world(4);
    uut.await_status([](const json& y) { return y["phase"] == "running"; });
    const auto folder = uut.folder() + "/.local/state/actorrun/journal";
    const auto journal = std::filesystem::directory_iterator {
      folder
      } -> path().string();
    uut.order_end();
    while (count_of(content_of(journal), "\"node_gone\"") < 2
           && first.running()) {
    }
    first.signal(SIGKILL);
    const auto how = first.wait();
    CHECK(a.wait() == 0);
    CHECK(b.wait() == 0);
    if (how != -SIGKILL
        || count_of(content_of(journal), "coordinator_ended") > 0)
      continue;
    CHECK(uut.coordinator(x).wait() == 0);
    return;
  }
  FAIL("the coordinator's end was quicker each time");
}

// As in a fresh container: nothing on this machine knows of the coordinator
// before, and an agent of it is in no state to tell.
namespace {

/// Coordinators whose hosts disagree about the date, and of which nothing is left.
struct clock_scene : hosted_scene {
  agent_options options() {
    auto x = hosted_scene::options();
    x.conf += more_conf;
    return x;
  }

  program& with_clock(const std::string& seconds) {
    auto x = options();
    x.more = {"--journal=none"};
    x.environment = {{"LD_PRELOAD", SHIFTED_CLOCK}, {"SHIFTED_BY", seconds}};
    return coordinator(x);
  }

  worker_records start_job_at(const std::string& seconds) {
    first = &with_clock(seconds);
    agents = {&agent(options()), &agent(options())};
    return await_world(4);
  }

  std::string more_conf;
};

} // namespace

TEST_CASE_METHOD(
  clock_scene,
  "coordinator and warden killed: V5 P8 where the first one's clock was three "
  "days ahead, workers go on, and the next number is one more",
  "[coordinator]") {
  more_conf = ",keep_alive_max_attempt=20"; // A busy machine starts it late.
  const auto before = start_job_at("259200");
  kill_without_proof(*first);
  auto& next = with_clock("0");
  const auto pid = next.pid();
  await_status([&](const json& x) {
    return x["phase"] == "running" && x["coordinator"]["pid"] == pid;
  });
  for (const auto& x : before)
    CHECK(alive(x.pid));
  order_exit(before[1].pid, 5);
  const auto after = await_world(4, before[0].generation);
  CHECK(after[0].number == before[0].number + 1);
  CHECK(last_of(records_of(before)) < first_of(after));
  order_end();
  for (auto* x : agents)
    CHECK(x->wait() == 0);
  CHECK(next.wait() == 0);
}

TEST_CASE_METHOD(
  clock_scene,
  "coordinator and warden killed: V4 where the next one's clock is two hours "
  "behind, a member that was out of touch gets a higher number than it had",
  "[coordinator]") {
  const auto before = start_job_at("0");
  agents[1]->signal(SIGSTOP);
  kill_without_proof(*first);
  agents[0]->signal(SIGKILL);
  agents[0]->wait();
  const auto killed = now_ns();
  auto& next = with_clock("-7200");
  auto& third = agent(options());
  auto& fourth = agent(options());
  auto between = worker_records{};
  REQUIRE(eventually([&] {
    between = records();
    std::erase_if(between, [=](const auto& x) { return x.start_ns < killed; });
    return between.size() == 4;
  }));
  agents[1]->signal(SIGCONT);
  const auto all = await_world(6, before[0].generation);
  CHECK(all[0].number > before[0].number);
  CHECK(all[0].number > between[0].number);
  CHECK(last_of(records_of(before)) < first_of(all));
  order_end();
  for (auto* x : {agents[1], &third, &fourth, &next})
    CHECK(x->wait() == 0);
}

TEST_CASE_METHOD(
  scene,
  "coordinator and warden killed: the next one waits for workers "
  "that it cannot know, and its numbers are higher",
  "[coordinator]") {
  auto options = agent_options{.nodes = "2:3"};
  auto& host = agent(options);
  auto& peer = agent(options);
  const auto before = await_world(4);
  peer.signal(SIGSTOP);
  // Both in one instant, as far as anyone can see.
  for (const auto pid : descendants(host.pid()))
    if (is_warden(pid))
      ::kill(pid, SIGKILL);
  host.signal(SIGKILL);
  host.wait();
  options.host = true;
  options.environment = {{"ACTORRUN_RUN_DIR", folder() + "/tmp"}};
  auto& next = agent(options);
  options.host = false;
  auto& third = agent(options);
  const auto after = await_world(4, before[0].generation);
  CHECK(last_of(records_of(before)) < first_of(after));
  CHECK(next.says("may still run workers of an earlier"));
  peer.signal(SIGCONT);
  const auto all = await_world(6, after[0].generation);
  CHECK(last_of(records_of(after)) < first_of(all));
  order_end();
  for (auto* x : {&next, &third, &peer})
    CHECK(x->wait() == 0);
}

TEST_CASE_METHOD(
  hosted_scene,
  "coordinator and warden killed: W3 after a resize that only the members know "
  "of, the next one turns none away, and their workers live on",
  "[coordinator]") {
  const auto asking = [this](const char* nodes) {
    auto x = options();
    x.nodes = nodes;
    x.conf += ",keep_alive_max_attempt=20"; // A busy machine starts it late.
    return x;
  };
  first = &coordinator(asking("2"));
  agents = {&agent(asking("2")), &agent(asking("2"))};
  const auto small = await_world(4);
  auto code = -1;
  read({ACTORCTL_PROGRAM, "resize", "2:3"}, &code);
  REQUIRE(code == 0);
  agents.push_back(&agent(asking("2:3")));
  const auto before = await_world(6, small[0].generation);
  await_status([](const json& x) { return x["phase"] == "running"; });
  const auto count = records().size();
  kill_without_proof(*first);
  auto of_next = asking("2");
  of_next.more = {"--journal=none"};
  first = &coordinator(of_next);
  const auto now = await_status([this](const json& x) {
    return x["phase"] == "running" && x["coordinator"]["pid"] == first->pid();
  });
  CHECK(now["generation"] == before[0].number);
  CHECK(now["nodes_max"] == 3);
  CHECK(now["world_size"] == 6);
  // Nor is one turned away later.
  CHECK_FALSE(eventually([&] { return records().size() != count; }, 1'500ms));
  for (const auto& x : before)
    CHECK(alive(x.pid));
  order_end();
  for (auto* x : agents)
    CHECK(x->wait() == 0);
  CHECK(first->wait() == 0);
}

} // namespace actorrun::test::coordinator_test
