// Jobs of which one worker is slower than the others.
#include "tests/support/catch.hpp"
#include "tests/system/scene.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

namespace actorrun::test::stragglers_test {

namespace {

namespace fs = std::filesystem;

/// Nodes of two workers each, which say how long they compute.
struct stragglers_scene : scene {
  program& node(words more = {}, const char* nodes = "2") {
    return agent({.nodes = nodes,
                  .slots = 2,
                  .more = std::move(more),
                  .command = {PACED_WORKER, folder()}});
  }

  void slow_down(int rank) const {
    // In one piece: workers read it at each step.
    std::ofstream{folder() + "/new"} << rank << "\n";
    fs::rename(folder() + "/new", folder() + "/slow");
  }

  void heal() const { fs::remove(folder() + "/slow"); }

  /// All of the job say how long they compute.
  json await_steps(size_t count) {
    return await_status([count](const json& x) {
      auto known = size_t{0};
      for (const auto& node : x["agents"])
        for (const auto& worker : node["workers"])
          known += worker["compute_us"].is_number() ? 1 : 0;
      return x["phase"] == "running" && known == count;
    });
  }

  json await_slow(int rank) {
    return await_status([rank](const json& x) {
      return x["stragglers"].size() == 1 && x["stragglers"][0]["rank"] == rank;
    });
  }

  void end() {
    std::ofstream{folder() + "/end"} << "yes";
    for (auto& x : programs())
      CHECK(x.wait() == 0);
  }
};

} // namespace

TEST_CASE_METHOD(stragglers_scene,
                 "stragglers: the worker that computes longer than the others "
                 "is named, until it does not",
                 "[stragglers]") {
  auto& first = node();
  node();
  const auto even = await_steps(4);
  CHECK(even["slow"].is_null());
  const auto& worker = even["agents"][0]["workers"][0];
  CHECK(worker["steps"].get<int>() > 0);
  CHECK(worker["compute_us"].get<int>() >= 20'000);
  CHECK(worker["step_us"].get<int>() >= worker["compute_us"].get<int>());
  slow_down(3);
  const auto seen = await_slow(3);
  INFO(seen.dump());
  CHECK(seen["healthy"] == true);
  CHECK(seen["slow"].get<std::string>().find("rank 3 on ") == 0);
  CHECK(seen["stragglers"][0]["compute_us"].get<int>() >= 40'000);
  CHECK(seen["stragglers"][0]["usual_us"].get<int>() < 40'000);
  CHECK(first.says("rank 3 on "));
  const auto status = read({ACTORCTL_PROGRAM, "status"});
  CHECK(status.find("slow: rank 3 on ") != status.npos);
  const auto why = read({ACTORCTL_PROGRAM, "why"});
  INFO(why);
  CHECK(why.find("; rank 3 on ") != why.npos);
  CHECK(why.find(" computes for ") != why.npos);
  heal();
  const auto healed
    = await_status([](const json& x) { return x["slow"].is_null(); });
  CHECK(healed["generation"] == 1);
  end();
  CHECK(first.says("no worker is slower than the others any more"));
}

TEST_CASE_METHOD(stragglers_scene,
                 "stragglers: the checks of its node run beside its workers",
                 "[stragglers]") {
  const auto check = "--check=echo x >> " + folder() + "/checks";
  node({check, "--on-straggler=check"});
  node();
  await_steps(4);
  const auto size = [&] {
    auto error = std::error_code{};
    const auto known = fs::file_size(folder() + "/checks", error);
    return error ? 0 : known;
  };
  const auto before = size(); // When it joined.
  CHECK(before == 2);
  // Ranks follow the ids of the agents: a check is at the first node.
  const auto job = status();
  auto rank = -1;
  for (const auto& x : job["agents"])
    if (x["agent"].get<std::string>().find(
          std::to_string(programs().front().pid()))
        != std::string::npos)
      rank = x["first_rank"].get<int>();
  REQUIRE(rank >= 0);
  slow_down(rank);
  await_slow(rank);
  CHECK(eventually([&] { return size() > before; }));
  CHECK(status()["generation"] == 1);
  CHECK(status()["phase"] == "running");
  heal();
  end();
}

TEST_CASE_METHOD(stragglers_scene,
                 "stragglers: its node is drained where another can take its "
                 "place",
                 "[stragglers]") {
  node({"--on-straggler=drain"}, "2:2"); // The coordinator's stays.
  node({"--on-straggler=drain"}, "2:2");
  node({"--on-straggler=drain"}, "2:2"); // Stands by.
  const auto job = await_steps(4);
  auto rank = -1;
  const auto own = std::to_string(programs().front().pid());
  for (const auto& x : job["agents"])
    if (x["agent"].get<std::string>().find(own) == std::string::npos
        && x["first_rank"].is_number())
      rank = x["first_rank"].get<int>();
  REQUIRE(rank >= 0);
  slow_down(rank);
  const auto next = await_status([](const json& x) {
    return x["phase"] == "running" && x["generation"] == 2
           && x["agents"].size() == 2;
  });
  INFO(next.dump());
  CHECK(next["restarts"] == 0);
  heal();
  const auto why = read({ACTORCTL_PROGRAM, "why", "--all"});
  INFO(why);
  CHECK(why.find("--on-straggler") != why.npos);
  std::ofstream{folder() + "/end"} << "yes";
  for (auto& x : programs())
    x.wait();
}

TEST_CASE_METHOD(stragglers_scene,
                 "stragglers: with a distance of 0 nothing is said or left "
                 "behind",
                 "[stragglers]") {
  node({"--straggler-distance=0"}, "1");
  const auto job = await_status([](const json& x) {
    return x["phase"] == "running" && x["world_size"] == 2;
  });
  CHECK(job["agents"][0]["workers"][0]["steps"].is_null());
  end();
}

} // namespace actorrun::test::stragglers_test
