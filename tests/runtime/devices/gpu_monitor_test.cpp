#include "runtime/devices/gpu_monitor.hpp"
#include "tests/runtime/devices/gpu_fixture.hpp"

#include <memory>
#include <string>
#include <utility>

namespace actorrun::test::gpu_monitor_test {

using namespace actorrun::detail;
using namespace actorrun::detail::gpu_test;

namespace {

/// The reports of a monitor.
struct look {
  core::devices_status now;
  std::string event;
};

struct looks : notes<look> {
  ports::device_monitor::listener listener() {
    return [this](core::devices_status now, std::string event) {
      add({std::move(now), std::move(event)});
    };
  }
};

/// A monitor over a stand-in. The monitor is destroyed first.
struct watched {
  standin world;
  looks told;
  std::unique_ptr<gpu_monitor> uut = std::make_unique<gpu_monitor>();

  void watch() {
    uut->watch(told.listener());
    REQUIRE(told.wait_for(1));
  }

  core::devices_status sample() {
    const auto before = told.count();
    uut->sample(told.listener());
    REQUIRE(told.wait_for(before + 1));
    return told.last().now;
  }
};

} // namespace

TEST_CASE("gpu_monitor: it reports the first sample and each requested one",
          "[gpu][anygpu]") {
  const auto gpus = any_gpus{};
  if (!gpus.are_there())
    return;
  auto told = looks{};
  auto uut = gpu_monitor{};
  uut.watch(told.listener());
  REQUIRE(told.wait_for(1));
  CHECK(told.last().event.empty());
  CHECK_FALSE(told.last().now.gpus.empty());
  uut.sample(told.listener());
  REQUIRE(told.wait_for(2));
  CHECK(told.last().event.empty());
  CHECK_FALSE(told.last().now.gpus.empty());
}

TEST_CASE_METHOD(watched, "gpu_monitor: samples show the state at their time",
                 "[gpu]") {
  world.write("gpu uuid=GPU-a name=N used=1 total=9 util=3 temp=40\n");
  watch();
  CHECK(told.last().now.gpus.at(0)
        == core::gpu_status{.index = 0,
                            .name = "N",
                            .uuid = "GPU-a",
                            .memory_used = 1,
                            .memory_total = 9,
                            .utilisation = 3,
                            .temperature = 40});
  world.write("gpu uuid=GPU-a name=N used=5 total=9\n");
  CHECK(sample().gpus.at(0).memory_used == 5);
}

TEST_CASE_METHOD(watched, "gpu_monitor: an XID of the machine marks the GPU",
                 "[gpu]") {
  world.write(two_gpus);
  watch();
  world.write(std::string{two_gpus} + "xid 1 79\n");
  REQUIRE(told.wait_for(2));
  CHECK(told.last().event == "GPU 1: XID 79: has fallen off the bus");
  const auto now = told.last().now;
  CHECK(now.gpus.at(0).trouble.empty());
  CHECK(now.gpus.at(1).trouble == "XID 79: has fallen off the bus");
  CHECK(sample().gpus.at(1).trouble == "XID 79: has fallen off the bus");
}

TEST_CASE_METHOD(
  watched, "gpu_monitor: an XID of a program is reported and marks no GPU",
  "[gpu]") {
  world.write(two_gpus);
  watch();
  // The XID of a killed program is not reported.
  world.write(std::string{two_gpus} + "xid 0 45\nxid 0 31\n");
  REQUIRE(told.wait_for(2));
  CHECK(told.last().event == "GPU 0: XID 31: page fault of a program");
  CHECK(told.last().now.gpus.at(0).trouble.empty());
}

TEST_CASE_METHOD(watched, "gpu_monitor: a lost GPU is an event, once",
                 "[gpu]") {
  world.write(two_gpus);
  watch();
  world.write("gpu uuid=GPU-aa lost=1\ngpu uuid=GPU-bb name=N total=1\n");
  uut->sample([](const auto&, const auto&) {});
  REQUIRE(told.wait_for(2));
  CHECK(told.last().event == "GPU 0: GPU is lost");
  CHECK(sample().gpus.at(0).trouble == "GPU is lost");
  CHECK(told.count() == 3);
  CHECK(told.last().event.empty());
}

TEST_CASE_METHOD(watched, "gpu_monitor: simultaneous requests are all answered",
                 "[gpu]") {
  world.write(two_gpus);
  for (auto i = 0; i < 20; ++i)
    uut->sample(told.listener());
  CHECK(told.wait_for(20));
  CHECK(told.last().now.gpus.size() == 2);
}

TEST_CASE_METHOD(watched,
                 "gpu_monitor: with a driver that hangs few requests wait",
                 "[gpu]") {
  world.write(std::string{two_gpus} + "hang\n");
  for (size_t i = 0; i <= gpu_monitor::samples_max; ++i)
    uut->sample(told.listener());
  world.write(two_gpus);
  REQUIRE(told.wait_for(gpu_monitor::samples_max));
  sample(); // Requests are answered in order: no other was pending.
  CHECK(told.count() == gpu_monitor::samples_max + 1);
}

TEST_CASE_METHOD(
  watched, "gpu_monitor: an XID of an unknown GPU is reported and marks none",
  "[gpu]") {
  world.write(two_gpus);
  watch();
  world.write(std::string{two_gpus} + "xid 9 79\n");
  REQUIRE(told.wait_for(2));
  CHECK(told.last().event == "a GPU: XID 79: has fallen off the bus");
  for (const auto& gpu : told.last().now.gpus)
    CHECK(gpu.trouble.empty());
}

TEST_CASE_METHOD(watched,
                 "gpu_monitor: a fact that a GPU may not report is no failure",
                 "[gpu]") {
  world.write("gpu uuid=GPU-a name=N mig=1 private=1\n");
  watch();
  CHECK(told.last().now.gpus.at(0).trouble.empty());
  CHECK(told.last().event.empty());
}

TEST_CASE_METHOD(watched, "gpu_monitor: it reports nothing after its end",
                 "[gpu]") {
  world.write(two_gpus);
  watch();
  uut.reset();
  world.write(std::string{two_gpus} + "xid 0 79\n");
  CHECK(told.count() == 1);
}

} // namespace actorrun::test::gpu_monitor_test
