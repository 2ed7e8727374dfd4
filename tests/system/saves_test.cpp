// Jobs whose workers say when they have saved.
#include "tests/support/catch.hpp"
#include "tests/system/scene.hpp"

#include <filesystem>
#include <fstream>
#include <string>

namespace actorrun::test::saves_test {

namespace {

namespace fs = std::filesystem;

struct saves_scene : scene {
  void make(const char* name) const {
    std::ofstream{folder() + "/" + name} << "yes";
  }

  json time() {
    return json::parse(read({ACTORCTL_PROGRAM, "time", "--json"}));
  }

  static uint64_t us(const json& time, const char* cause) {
    return time["time"][cause]["worker_us"].get<uint64_t>();
  }

  static void check_sums(const json& x) {
    auto sum = uint64_t{0};
    for (const auto& cause : x["time"])
      sum += cause["worker_us"].get<uint64_t>();
    CHECK(sum == x["worker_us"].get<uint64_t>());
  }
};

} // namespace

TEST_CASE_METHOD(saves_scene,
                 "saves: the time that a job saves, and what a failure has "
                 "lost, in its journal",
                 "[saves]") {
  auto& job = agent({.nodes = "1",
                     .restart_count_max = 1,
                     .slots = 2,
                     .command = {SAVING_WORKER, folder()}});
  CHECK(eventually([&] { return fs::exists(folder() + "/trained"); }));
  make("fail");
  await_status([](const json& x) {
    return x["phase"] == "running" && x["generation"] == 2;
  });
  const auto now = time();
  INFO(now.dump());
  CHECK(us(now, "saving") >= 200'000);
  CHECK(us(now, "lost") >= 900'000); // Two workers, since the save began.
  CHECK(us(now["generations"][0], "training") < us(now, "lost"));
  check_sums(now);
  const auto text = read({ACTORCTL_PROGRAM, "time"});
  INFO(text);
  CHECK(text.find("of worker time is lost, trained after the last save, ")
        != text.npos);
  CHECK(read({ACTORCTL_PROGRAM, "journal"}).find(": its workers have saved; ")
        != std::string::npos);
  make("end");
  CHECK(job.wait() == 0);
  const auto after = time();
  CHECK(after["state"] == "succeeded");
  CHECK(us(after, "lost") == us(now, "lost"));
  CHECK(us(after, "saving") >= 400'000); // The second generation, too.
  check_sums(after);
}

} // namespace actorrun::test::saves_test
