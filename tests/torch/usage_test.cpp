// Runs scripts that use torch.distributed in various ways under the real
// launcher.
#include "tests/support/catch.hpp"
#include "tests/torch/training_scene.hpp"

#include <csignal>
#include <filesystem>

namespace actorrun::test::usage_test {

namespace {

struct usage_scene : training_scene {
  /// A job of two workers.
  program& use(const std::string& way) {
    auto command = words{"--nproc-per-node=2"};
    for (const auto& more : {launcher_options(), words{USAGE_SCRIPT, way}})
      command.insert(command.end(), more.begin(), more.end());
    return run(std::move(command), variables());
  }
};

} // namespace

TEST_CASE_METHOD(usage_scene, "usage: scripts of many kinds run as they are",
                 "[usage]") {
  if (!has_torch())
    return;
  for (const auto* way : {"address", "collectives", "loader", "rpc", "spawn"}) {
    auto& x = use(way);
    CHECK(x.wait(training_timeout) == 0);
    INFO(way << ": " << x.output());
    CHECK(count_of(x.output(), ": all is well") == 2);
  }
}

TEST_CASE_METHOD(usage_scene, "usage: a worker saves its state at SIGTERM",
                 "[usage]") {
  if (!has_torch())
    return;
  auto& x = use("sigterm");
  REQUIRE(eventually([&] { return count_of(x.output(), ": trains") == 2; },
                     training_timeout));
  x.signal(SIGTERM);
  const auto code = x.wait(training_timeout);
  INFO(x.output());
  // torch's launcher, where it starts us, turns the signal into an exception.
  CHECK(code == (count_of(x.output(), "SignalException: ") > 0 ? 1 : 143));
  CHECK(count_of(x.output(), ": all is well") == 2);
  for (const auto* rank : {"0", "1"})
    CHECK(std::filesystem::exists(folder() + "/sigterm." + rank));
}

} // namespace actorrun::test::usage_test
