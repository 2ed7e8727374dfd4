// Changes that can wait cost workers with safe points no step.
#include "tests/support/catch.hpp"
#include "tests/system/scene.hpp"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <vector>

namespace actorrun::test::live_steps_test {

namespace {

/// Where a stepping worker is.
struct position {
  uint64_t generation = 0;
  uint32_t rank = 0;
  uint32_t world_size = 0;
  uint64_t step = 0;
};

struct fixture : scene {
  program& node() {
    auto command = words{STEPPING_WORKER, folder()};
    command.insert(command.end(), worker.begin(), worker.end());
    return agent({.nodes = nodes, .more = more, .command = command});
  }

  std::vector<position> positions() const {
    auto out = std::vector<position>{};
    for (const auto& file : std::filesystem::directory_iterator{folder()})
      if (const auto name = file.path().filename().string();
          name.starts_with("at.") && !name.ends_with("~")) {
        auto x = position{};
        if (std::ifstream{file.path()} >> x.generation >> x.rank >> x.world_size
            >> x.step)
          out.push_back(x);
      }
    return out;
  }

  /// Waits until all workers of a group of this size have done a step in a newer
  /// generation than `generation`.
  /// @returns the one with rank 0
  position await_steps(uint32_t count, uint64_t generation = 0) {
    auto first = position{};
    require(eventually([&] {
              auto present = uint32_t{0};
              const auto all = positions();
              for (const auto& x : all) {
                if (x.generation <= generation || x.world_size != count)
                  continue;
                ++present;
                if (x.rank == 0)
                  first = x;
              }
              return present == count && first.step > 0;
            }),
            std::to_string(count) + " workers take steps");
    return first;
  }

  std::string text_of(const std::string& name) const {
    auto file = std::ifstream{folder() + "/" + name};
    return {std::istreambuf_iterator<char>{file}, {}};
  }

  void open_gate() { std::ofstream{folder() + "/open"}; }

  void order_last_step() { std::ofstream{folder() + "/end"}; }

  std::string nodes = "1:4";
  words more;
  words worker; ///< More of its arguments.
};

size_t line_count(const std::string& text) {
  return size_t(std::count(text.begin(), text.end(), '\n'));
}

} // namespace

TEST_CASE_METHOD(fixture, "live: joiners and leavers cost no step", "[live]") {
  auto& a = node();
  auto last = await_steps(2);
  auto& b = node();
  last = await_steps(4, last.generation);
  auto& c = node();
  last = await_steps(6, last.generation);
  auto ends_with = 0;
  CHECK(line_count(text_of("saved")) == 2 + 4);
  SECTION("a node is drained") {
    const auto said = read({ACTORCTL_PROGRAM, "drain", "2", "--deadline=90s"});
    CHECK(said.find("leaves in 90.0 s at the latest") != std::string::npos);
    const auto now = await_steps(4, last.generation);
    CHECK(now.step >= last.step);
  }
  SECTION("there are to be fewer") {
    read({ACTORCTL_PROGRAM, "resize", "1:2"});
    await_steps(4, last.generation);
    ends_with = 8; // It stands by, and is not needed any more.
  }
  CHECK(text_of("lost") == "");
  CHECK(line_count(text_of("saved")) == 2 + 4 + 6);
  order_last_step();
  CHECK(a.wait() == 0);
  CHECK(b.wait() == 0);
  CHECK(c.wait() == ends_with);
  CHECK(text_of("lost") == "");
}

TEST_CASE_METHOD(fixture,
                 "live: a machine that goes costs no step, and the node that "
                 "stands by takes its place",
                 "[live]") {
  nodes = "1:2";
  auto& a = node();
  auto last = await_steps(2);
  more = {"--notice-file=" + folder() + "/going"};
  auto& b = node();
  last = await_steps(4, last.generation);
  more = {};
  node();
  await_status([](const json& x) {
    return std::ranges::any_of(
      x["agents"], [](const json& y) { return y["state"] == "standby"; });
  });
  std::ofstream{folder() + "/going"} << "spot: terminate\n";
  const auto now = await_steps(4, last.generation);
  CHECK(now.step >= last.step);
  CHECK(b.wait() == 0);
  CHECK(b.says("all workers come to a safe point before"));
  CHECK(a.says("stands by to take its place"));
  CHECK(text_of("lost") == "");
  CHECK(line_count(text_of("saved")) == 2 + 4);
  const auto why = read({ACTORCTL_PROGRAM, "why"});
  CHECK(why.find("(\"spot: terminate\")") != std::string::npos);
}

TEST_CASE_METHOD(fixture,
                 "live: T3 a group takes steps until the workers of a joiner "
                 "are ready",
                 "[live]") {
  auto& a = node();
  const auto alone = await_steps(2);
  worker = {"2000", "-", "open"};
  auto& b = node();
  require(eventually([&] { return line_count(text_of("gate")) == 2; }),
          "the joiner's workers start");

  CHECK(text_of("gate").find(" -\n") != std::string::npos);
  const auto before = await_steps(2);
  REQUIRE(before.generation == alone.generation);
  require(eventually([&] { return await_steps(2).step > before.step + 200; }),
          "the group takes steps meanwhile");
  CHECK(await_steps(2).generation == alone.generation);
  open_gate();
  const auto both = await_steps(4, alone.generation);
  CHECK(both.generation == alone.generation + 1);
  CHECK(line_count(text_of("gate")) == 2); // The same processes.
  CHECK(text_of("lost") == "");
  CHECK(line_count(text_of("saved")) == 2);
  order_last_step();
  CHECK(a.wait() == 0);
  CHECK(b.wait() == 0);
}

TEST_CASE_METHOD(fixture,
                 "live: T3 a joiner whose workers end without a rank starts "
                 "them in the next generation",
                 "[live]") {
  auto& a = node();
  const auto alone = await_steps(2);
  auto& b = agent({.nodes = "1:4",
                   .command = {"sh", "-c", "test -n \"$RANK\" && exec \"$@\"",
                               "sh", STEPPING_WORKER, folder()}});
  const auto both = await_steps(4, alone.generation);
  CHECK(both.generation == alone.generation + 1);
  CHECK(text_of("lost") == "");
  CHECK(b.output().find("has ended before its first generation, with code 1")
        != std::string::npos);
  order_last_step();
  CHECK(a.wait() == 0);
  CHECK(b.wait() == 0);
}

TEST_CASE_METHOD(fixture, "live: a failure does not wait for a safe point",
                 "[live]") {
  auto& a = node();
  const auto alone = await_steps(2);
  auto& b = node();
  const auto both = await_steps(4, alone.generation);
  b.signal(SIGKILL);
  await_steps(2, both.generation);
  CHECK(line_count(text_of("lost"))
        <= 2); // Who was between two steps has none.
  order_last_step();
  CHECK(a.wait() == 0);
}

TEST_CASE_METHOD(
  fixture, "live: W2 one worker without safe points keeps no joiner waiting",
  "[live]") {
  worker = {"2000", "1"};
  auto& a = node();
  const auto alone = await_steps(2);
  const auto since = now_ns();
  auto& b = node();
  await_steps(4, alone.generation);
  CHECK(now_ns() - since < 20'000'000'000); // --safe-point-timeout is 60 s.
  CHECK(text_of("saved") == "");
  order_last_step();
  CHECK(a.wait() == 0);
  CHECK(b.wait() == 0);
}

TEST_CASE_METHOD(fixture, "live: there may be no time for a safe point",
                 "[live]") {
  more = {"--safe-point-timeout=0"};
  auto& a = node();
  const auto alone = await_steps(2);
  auto& b = node();
  await_steps(4, alone.generation);
  CHECK(text_of("saved") == "");
  order_last_step();
  CHECK(a.wait() == 0);
  CHECK(b.wait() == 0);
}

} // namespace actorrun::test::live_steps_test
