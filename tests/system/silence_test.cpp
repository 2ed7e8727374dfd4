// Jobs whose workers show no sign of life any more.
#include "tests/support/catch.hpp"
#include "tests/system/scene.hpp"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace actorrun::test::silence_test {

namespace {

namespace fs = std::filesystem;

/// Writes a line now and then. While there is a file `hang`, rank 1 sleeps, and the
/// others wait for what never comes: all are silent, and one is elsewhere.
constexpr auto stepping_worker
  = "n=0; while [ ! -e end ]; do"
    " n=$((n+1)); echo step $n;"
    " if [ -e hang ]; then"
    "   if [ $RANK = 1 ] && [ ! -e alike ]; then exec sleep 1000; fi;"
    "   exec cat pipe;"
    " fi;"
    " sleep 0.05;"
    " done";

/// All wait at one place, and NCCL knows whom for.
const auto behind_worker = std::string{"[ $RANK != 1 ] || python3 " RAS_SERVICE
                                       " $$$$ >/dev/null 2>&1 &"}
                           + stepping_worker;

struct silence_scene : scene {
  silence_scene() {
    REQUIRE(std::system(("mkfifo " + folder() + "/pipe").c_str()) == 0);
  }

  program& node(words more, const std::string& script = stepping_worker) {
    more.push_back("--log-dir=" + folder() + "/logs");
    more.push_back("--redirects=3");
    return agent({.nodes = "3",
                  .restart_count_max = 3,
                  .slots = 1,
                  .more = std::move(more),
                  .command = {"sh", "-c", script}});
  }

  json await_generation(uint64_t number) {
    return await_status([number](const json& x) {
      return x["phase"] == "running" && x["world_size"] == 3
             && x["generation"] == number;
    });
  }

  void hang() const { std::ofstream{folder() + "/hang"} << "yes"; }
  void go_on() const { fs::remove(folder() + "/hang"); }

  void end() {
    std::ofstream{folder() + "/end"} << "yes";
    for (auto& x : programs())
      CHECK(x.wait() == 0);
  }
};

} // namespace

TEST_CASE_METHOD(
  silence_scene,
  "silence: a job that hangs starts again, and its report names the "
  "worker that is elsewhere",
  "[silence]") {
  auto& first = node({"--hang-timeout=1s"});
  node({"--hang-timeout=1s"});
  node({"--hang-timeout=1s"});
  await_generation(1);
  hang();
  CHECK(first.says("no worker has shown a sign of life for", 30s));
  go_on(); // For the next generation.
  const auto again = await_generation(2);
  CHECK(again["restarts"] == 1);
  const auto& failure = again["last_failure"];
  INFO(failure.dump());
  CHECK(failure["kind"] == "timer_expired");
  CHECK(failure["scope"] == "--hang-timeout");
  CHECK(failure["rank"] == 1);
  const auto why = read({ACTORCTL_PROGRAM, "why"});
  INFO(why);
  CHECK(why.find(
          "was killed because the job hung: no worker of the job had shown a "
          "sign of life for")
        != why.npos);
  CHECK(why.find("rank 1 is the odd one out") != why.npos);
  const auto time = read({ACTORCTL_PROGRAM, "time", "--json"});
  CHECK(time.find("\"hung\"") != time.npos);
  end();
}

TEST_CASE_METHOD(silence_scene,
                 "silence: NCCL is asked who has not launched what others have",
                 "[silence]") {
  write("alike", "");
  auto& first = node({"--hang-timeout=1s"}, behind_worker);
  node({"--hang-timeout=1s"}, behind_worker);
  node({"--hang-timeout=1s"}, behind_worker);
  await_generation(1);
  const auto sentence
    = std::string{"rank 1 of communicator #0-0 has not launched AllReduce "
                  "48213, which 2 others have"};
  const auto stacks = [&] { return read({ACTORCTL_PROGRAM, "stacks"}); };
  CHECK(eventually(
    [&] { return stacks().find("NCCL: " + sentence) != std::string::npos; }));
  hang();
  CHECK(first.says("is behind: " + sentence + " (NCCL)", 30s));
  go_on(); // For the next generation.
  const auto again = await_generation(2);
  CHECK(again["last_failure"]["rank"] == 1);
  end();
}

TEST_CASE_METHOD(
  silence_scene,
  "silence: a job that hangs is only told of where that is asked",
  "[silence]") {
  node({"--hang-timeout=1s", "--on-hang=report"});
  node({"--hang-timeout=1s"});
  node({"--hang-timeout=1s"});
  await_generation(1);
  CHECK(status()["hang"].is_null());
  hang();
  const auto hung
    = await_status([](const json& x) { return x["hang"].is_string(); });
  INFO(hung.dump());
  const auto text = hung["hang"].get<std::string>();
  CHECK(text.find("rank 1 on ") != text.npos);
  CHECK(text.find("is the odd one out") != text.npos);
  CHECK(hung["healthy"] == false);
  CHECK(hung["hang_age_ms"].get<int>() >= 1'000);
  CHECK(hung["generation"] == 1);
  const auto seen = read({ACTORCTL_PROGRAM, "status"});
  CHECK(seen.find("hangs: no worker has shown a sign of life") != seen.npos);
  // Those that wait at the pipe get its end, and exit with 0.
  std::ofstream{folder() + "/pipe"} << "on\n";
  await_status([](const json& x) { return x["hang"].is_null(); });
  programs().front().signal(SIGTERM);
  for (auto& x : programs())
    x.wait();
}

TEST_CASE_METHOD(silence_scene,
                 "silence: a job with a node without the option does not hang",
                 "[silence]") {
  node({"--hang-timeout=1s"});
  node({"--hang-timeout=1s"});
  node({});
  await_generation(1);
  hang();
  auto& first = programs().front();
  // Several times as long as it takes.
  const auto due = now_ns() + 5'000'000'000;
  require(eventually([&] { return now_ns() > due; }), "time passes");
  CHECK(status()["hang"].is_null());
  CHECK(status()["generation"] == 1);
  first.signal(SIGTERM);
  for (auto& x : programs())
    x.wait();
}

TEST_CASE_METHOD(scene, "silence: that no sign of life can be seen is said",
                 "[silence]") {
  auto& x = agent(
    {.nodes = "1",
     .slots = 1,
     .more = {"--hang-timeout=1s"},
     .command = {"sh", "-c", "while [ ! -e end ]; do sleep 0.05; done"}});
  CHECK(x.says("--hang-timeout has no effect for this job"));
  CHECK(status()["hang"].is_null());
  std::ofstream{folder() + "/end"} << "yes";
  CHECK(x.wait() == 0);
}

} // namespace actorrun::test::silence_test
