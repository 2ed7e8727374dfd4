// Tests what actorctl shows of nodes and workers that run.
#include "tests/support/catch.hpp"
#include "tests/system/healthy.hpp"
#include "tests/system/scene.hpp"

#include <csignal>
#include <string>

namespace actorrun::test::status_test {

namespace {

/// A busy worker that has written a line, and one that sleeps.
constexpr auto workers = "if [ $LOCAL_RANK = 0 ]; then echo hello; "
                         "while :; do :; done; fi; exec sleep 1000";

} // namespace

TEST_CASE_METHOD(scene, "status: it shows how the workers of a node are doing",
                 "[status]") {
  auto& job = run({"--standalone", "--nproc-per-node=2", "--redirects=3",
                   "--log-dir=" + folder() + "/logs", "--no-python", "sh", "-c",
                   workers});
  // Other programs may keep all CPUs for a while.
  const auto seen = await_status([](const json& x) {
    const auto& all = x["agents"][0]["workers"];
    return all.size() == 2 && all[0]["state"] == "R"
           && all[0]["cpu_percent"].is_number() && all[0]["cpu_percent"] >= 10
           && all[0]["output_bytes"] == 6;
  });
  const auto& busy = seen["agents"][0]["workers"][0];
  CHECK(busy["memory"] > 100'000);
  CHECK(busy["threads"] == 1);
  CHECK(busy["processes"] == 1);
  CHECK(busy["age_ms"] < 60'000);
  CHECK(busy["output_age_ms"] < 60'000);
  const auto& idle = seen["agents"][0]["workers"][1];
  CHECK(idle["state"] == "S");
  CHECK(idle["cpu_percent"] < busy["cpu_percent"]); // Its start has cost some.
  CHECK(idle["output_bytes"] == 0);
  CHECK(idle["output_age_ms"].is_null());
  const auto& node = seen["agents"][0]["vitals"];
  CHECK(node["load"].size() == 3);
  CHECK(node["cpus"] > 0);
  CHECK(node["memory_available"] <= node["memory_total"]);
  ::kill(idle["pid"].get<pid_t>(), SIGSTOP);
  await_status(
    [](const json& x) { return x["agents"][0]["workers"][1]["state"] == "T"; });
  const auto text = read({ACTORCTL_PROGRAM, "status", "-o", "wide"});
  CHECK(count_of(text, "RANK  LOCAL  HOST") == 1);
  CHECK(count_of(text, "stopped (T)") == 1);
  const auto brief = read({ACTORCTL_PROGRAM, "status"});
  CHECK(count_of(brief, "LOCAL") == 0);
  ::kill(idle["pid"].get<pid_t>(), SIGCONT); // It could not end.
  job.signal(SIGTERM);
  CHECK(job.wait() == 128 + SIGTERM);
}

TEST_CASE_METHOD(scene,
                 "status: a node that does not answer is shown as it was last",
                 "[status]") {
  const auto slow = agent_options{.conf = ",keep_alive_interval=5"};
  agent(slow);
  auto& b = agent(slow);
  await_world(4);
  const auto seen = await_status([](const json& x) {
    return x["agents"].size() == 2 && x["agents"][0]["vitals"].is_object()
           && x["agents"][1]["vitals"].is_object();
  });
  CHECK(seen["agents"][0]["workers"][1]["state"].is_string());
  CHECK(seen["agents"][1]["workers"][1]["state"].is_string());
  b.signal(SIGSTOP);
  const auto later = await_status([](const json& x) {
    return x["agents"][0]["vitals"]["age_ms"] > 1'000
           || x["agents"][1]["vitals"]["age_ms"] > 1'000;
  });
  const auto is_first = later["agents"][0]["vitals"]["age_ms"] > 1'000;
  const auto& stopped = later["agents"][is_first ? 0 : 1];
  const auto& other = later["agents"][is_first ? 1 : 0];
  CHECK(stopped["workers"][0]["memory"] > 100'000);
  CHECK(other["vitals"]["age_ms"] < 1'000);
  b.signal(SIGCONT);
  order_end();
  for (auto& x : programs())
    CHECK(x.wait() == 0);
}

TEST_CASE_METHOD(scene, "status: the exit code is the job's state",
                 "[status]") {
  auto code = -1;
  const auto ask = [&](words more) {
    auto command = words{ACTORCTL_PROGRAM, "status"};
    command.insert(command.end(), more.begin(), more.end());
    return read(command, &code);
  };
  auto& a = agent({.restart_count_max = 1});
  // It gathers before its own node has joined, and listens first.
  await_status([](const json& x) {
    return x["phase"] == "gathering" && x["agents"].size() == 1
           && x["waiting_for"].get<std::string>().find("of 2 nodes are here")
                != std::string::npos;
  });
  CHECK(count_of(ask({}), "1 of 2 nodes are here, for ") == 1);
  CHECK(code == 1);
  auto& b = agent({.restart_count_max = 1});
  await_world(4);
  const auto seen = await_status(is_healthy);
  ask({"--json"});
  CHECK(code == 0);
  CHECK(seen["agents"][0]["state"] == "running");
  CHECK(seen["generations"].size() == 1);
  const auto wide = ask({"-o", "wide"});
  CHECK(count_of(wide, "LEASE") == 1);
  CHECK(count_of(wide, "REGROUP") == 1);
  order_end();
  CHECK(a.wait() == 0);
  CHECK(b.wait() == 0);
  // It has ended, and is listed.
  const auto text = ask({});
  CHECK(code == 3);
  CHECK(count_of(text, "succeeded") >= 1);
  ask({"job"});
  CHECK(code == 0);
  ask({"ghost"});
  CHECK(code == 3);
  CHECK(status_of_all()["ended"][0]["generations"] == 1);
  CHECK(count_of(ask({"--journal=" + folder() + "/nowhere"}), "no jobs") == 1);
}

TEST_CASE_METHOD(scene, "status: it shows when a worker last used a timer",
                 "[status]") {
  // Two of four signs are left, as of torchrun's arguments.
  auto& job = run(
    {"--standalone", "--nproc-per-node=2", "--no-python", "sh", "-c",
     R"(if [ $LOCAL_RANK = 1 ]; then printf '{"pid": %d, "scope_id": "step", )"
     R"("expiration_time": %d.5, "signal": 15}\n' $$$$ $(($(date +%s) + 600)) )"
     R"(> "$TORCHELASTIC_TIMER_FILE"; fi; exec sleep 1000)"});
  const auto seen = await_status([](const json& x) {
    const auto& all = x["agents"][0]["workers"];
    return all.size() == 2 && all[1]["timer_scope"] == "step";
  });
  const auto& all = seen["agents"][0]["workers"];
  CHECK(all[1]["timer_age_ms"] < 60'000);
  CHECK(all[0]["timer_scope"].is_null());
  CHECK(all[0]["timer_age_ms"].is_null());
  job.signal(SIGTERM);
  CHECK(job.wait() == 128 + SIGTERM);
}

TEST_CASE_METHOD(scene, "status: a job that failed is listed with the reason",
                 "[status]") {
  auto& job = run(
    {"--standalone", "--rdzv-id=broken", "--no-python", "sh", "-c", "exit 7"});
  CHECK(job.wait() == 1);
  auto code = -1;
  const auto text = read({ACTORCTL_PROGRAM, "status", "broken"}, &code);
  CHECK(code == 1);
  CHECK(count_of(text, "failed") >= 1);
  CHECK(count_of(text, "code 7") == 1);
}

TEST_CASE_METHOD(scene, "why: the coordinator is asked from afar", "[status]") {
  agent({.restart_count_max = 1});
  agent({.restart_count_max = 1});
  const auto before = await_world(4);
  order_exit(before[1].pid, 8);
  await_world(4, before[0].generation);
  await_status(is_healthy);
  auto code = -1;
  const auto far = words{ACTORCTL_PROGRAM, "why",
                         "--rdzv-endpoint=" + endpoint(), "--rdzv-id=job"};
  const auto text = read(far, &code);
  CHECK(code == 0);
  CHECK(count_of(text, "exited with code 8") >= 1);
  CHECK(text == read({ACTORCTL_PROGRAM, "why", "job"}));
  CHECK("job job:\n" + text == read({ACTORCTL_PROGRAM, "why"}));
  auto as_data = far;
  as_data.insert(as_data.end(), {"--all", "--json"});
  const auto data = read(as_data, &code);
  CHECK(code == 0);
  CHECK(count_of(data, R"("exit_code":8,)") >= 1);
  CHECK(data == read({ACTORCTL_PROGRAM, "why", "--all", "--json"}));
  read({ACTORCTL_PROGRAM, "why", "--rdzv-endpoint=" + endpoint(),
        "--rdzv-id=other"},
       &code);
  CHECK(code == 4);
  order_end();
}

} // namespace actorrun::test::status_test
