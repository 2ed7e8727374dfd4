// Jobs whose ends have a class, and what follows from it.
#include "tests/support/catch.hpp"
#include "tests/system/scene.hpp"

#include <filesystem>
#include <fstream>
#include <string>

namespace actorrun::test::ends_test {

namespace {

/// Rank 1 fails as the file `how` says, in each generation; the others wait.
constexpr auto failing_worker = "if [ $RANK = 1 ]; then"
                                "   while [ ! -e how ]; do sleep 0.02; done;"
                                "   . ./how;"
                                " fi;"
                                " while [ ! -e end ]; do sleep 0.05; done";

struct ends_scene : scene {
  program& node(words more) {
    return agent({.nodes = "2",
                  .restart_count_max = 20,
                  .slots = 1,
                  .more = std::move(more),
                  .command = {"sh", "-c", failing_worker}});
  }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream{folder() + "/." + name} << text << "\n";
    std::filesystem::rename(folder() + "/." + name, folder() + "/" + name);
  }

  json first_end() {
    return await_status([](const json& x) {
      return x["phase"] == "running" && x["generation"] == 2;
    })["generations"][0];
  }
};

} // namespace

TEST_CASE_METHOD(ends_scene,
                 "ends: a job ends at once where a rule of the class says so",
                 "[ends]") {
  const auto report = folder() + "/report.json";
  auto& first = node({"--on-failure=program:stop", "--class-exit-codes",
                      "--report-file=" + report});
  auto& second = node({"--on-failure=program:stop"});
  write("how", "exit 7");
  CHECK(first.wait() == 40);
  CHECK(second.wait() == 1);
  CHECK(first.says("is not restarted: --on-failure=program:stop"));
  auto in = std::ifstream{report};
  const auto x = json::parse(in);
  CHECK(x["class"] == "program");
  CHECK(x["exit_code"] == 40);
  CHECK(x["given_up"] == "--on-failure=program:stop");
}

TEST_CASE_METHOD(ends_scene, "ends: each end is told with its class",
                 "[ends]") {
  node({});
  node({});
  write("how", "if [ ! -e once ]; then touch once; kill -TERM $$; fi");
  const auto ended = first_end();
  INFO(ended.dump());
  CHECK(ended["class"] == "preemption");
  CHECK(ended["evidence"] == "SIGTERM that actorrun has not sent");
  const auto now = status();
  CHECK(now["ends"][0]["class"] == "preemption");
  CHECK(now["ends"][0]["count"] == 1);
  const auto why = read({ACTORCTL_PROGRAM, "why"});
  INFO(why);
  CHECK(why.find("class: preemption (SIGTERM that actorrun has not sent)")
        != why.npos);
  write("end", "");
  for (auto& x : programs())
    CHECK(x.wait() == 0);
}

TEST_CASE_METHOD(ends_scene,
                 "ends: a job that fails in the same way again and again waits "
                 "longer each time, and is not healthy",
                 "[ends]") {
  auto& first = node({"--restart-backoff=4s:1m"});
  node({"--restart-backoff=4s:1m"});
  write("how", "[ -e end ] || exit 7");
  const auto looping = await_status([](const json& x) {
    return x["alike_ends"].is_number() && x["alike_ends"] >= 3
           && x["phase"] == "gathering";
  });
  INFO(looping.dump());
  CHECK(looping["healthy"] == false);
  CHECK(looping["loop"].get<std::string>().find("ends alike: rank 1 on ")
        != std::string::npos);
  CHECK(looping["waiting_for"].get<std::string>().find("the next start waits: ")
        != std::string::npos);
  CHECK(looping["waiting_left_ms"].is_number());
  CHECK(first.says("ends alike: rank 1 on "));
  CHECK(first.says("; next start in "));
  write("end", "");
  // An operator need not wait.
  const auto answer = read({ACTORCTL_PROGRAM, "restart"});
  INFO(answer);
  CHECK(answer.find("the next generation starts now") != answer.npos);
  for (auto& x : programs())
    CHECK(x.wait() == 0);
}

} // namespace actorrun::test::ends_test
