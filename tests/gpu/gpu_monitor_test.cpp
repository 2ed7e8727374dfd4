#include "actorrun/runtime/detail/gpu_monitor.hpp"
#include "gpu_fixture.hpp"

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

using namespace actorrun;
using namespace actorrun::detail;
using namespace actorrun::detail::gpu_test;
using namespace std::chrono_literals;

namespace {

constexpr auto patience = 20s;

/// What a monitor has told; may outlive it, as its threads do.
struct notes {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<core::devices_status> seen;
  std::vector<std::string> events;
  std::vector<std::string> freed;

  ports::device_monitor::listener listener() {
    return [this](core::devices_status now, std::string event) {
      const auto guard = std::lock_guard{mutex};
      seen.push_back(std::move(now));
      events.push_back(std::move(event));
      changed.notify_all();
    };
  }

  gpu_monitor::freed_handler freed_handler() {
    return [this](std::string complaint) {
      const auto guard = std::lock_guard{mutex};
      freed.push_back(std::move(complaint));
      changed.notify_all();
    };
  }

  bool wait(const std::function<bool()>& holds) {
    auto guard = std::unique_lock{mutex};
    return changed.wait_for(guard, patience, holds);
  }

  bool wait_for_events(size_t count) {
    return wait([&] { return events.size() >= count; });
  }

  bool wait_for_freed() {
    return wait([&] { return !freed.empty(); });
  }

  size_t event_count() {
    const auto guard = std::lock_guard{mutex};
    return events.size();
  }

  core::devices_status last() {
    const auto guard = std::lock_guard{mutex};
    return seen.back();
  }

  std::string last_event() {
    const auto guard = std::lock_guard{mutex};
    return events.back();
  }
};

/// A monitor over a stand-in. The monitor goes first.
struct watched {
  standin world;
  notes told;
  std::unique_ptr<gpu_monitor> uut = std::make_unique<gpu_monitor>();

  void watch() {
    uut->watch(told.listener());
    REQUIRE(told.wait_for_events(1));
  }

  core::devices_status sample() {
    const auto before = told.event_count();
    uut->sample(told.listener());
    REQUIRE(told.wait_for_events(before + 1));
    return told.last();
  }
};

/// A process with a session of its own, which ends with its owner.
struct session {
  pid_t pid = ::fork();

  session() {
    if (pid == 0) {
      ::setsid();
      for (;;)
        ::pause();
    }
    while (::getsid(pid) != pid)
      ::usleep(1'000);
  }

  ~session() {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
};

std::string gpu_with_pids(const std::string& pids) {
  return "gpu uuid=GPU-a name=N total=2 used=1 pids=" + pids + "\n";
}

} // namespace

TEST_CASE("gpu_monitor: the first look is told, and each that is asked for",
          "[gpu][anygpu]") {
  const auto gpus = any_gpus{};
  if (!gpus.are_there())
    return;
  auto told = notes{};
  auto uut = gpu_monitor{};
  uut.watch(told.listener());
  REQUIRE(told.wait_for_events(1));
  CHECK(told.last_event().empty());
  CHECK_FALSE(told.last().gpus.empty());
  uut.sample(told.listener());
  REQUIRE(told.wait_for_events(2));
  CHECK(told.last_event().empty());
  CHECK_FALSE(told.last().gpus.empty());
}

TEST_CASE("gpu_monitor: nobody waits for the memory of who has held none",
          "[gpu][anygpu]") {
  const auto gpus = any_gpus{};
  if (!gpus.are_there())
    return;
  auto told = notes{};
  auto uut = gpu_monitor{};
  uut.await_memory({::getpid()}, told.freed_handler(), 10s);
  REQUIRE(told.wait_for_freed());
  CHECK(told.freed.front().empty());
}

TEST_CASE_METHOD(watched, "gpu_monitor: looks show how things stand by then",
                 "[gpu]") {
  world.write("gpu uuid=GPU-a name=N used=1 total=9 util=3 temp=40\n");
  watch();
  CHECK(told.last().gpus.at(0)
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
  REQUIRE(told.wait_for_events(2));
  CHECK(told.last_event() == "GPU 1: XID 79: has fallen off the bus");
  const auto now = told.last();
  CHECK(now.gpus.at(0).trouble.empty());
  CHECK(now.gpus.at(1).trouble == "XID 79: has fallen off the bus");
  CHECK(sample().gpus.at(1).trouble == "XID 79: has fallen off the bus");
}

TEST_CASE_METHOD(watched,
                 "gpu_monitor: an XID of a program is told and marks nothing",
                 "[gpu]") {
  world.write(two_gpus);
  watch();
  // That of a program which was killed is no news.
  world.write(std::string{two_gpus} + "xid 0 45\nxid 0 31\n");
  REQUIRE(told.wait_for_events(2));
  CHECK(told.last_event() == "GPU 0: XID 31: page fault of a program");
  CHECK(told.last().gpus.at(0).trouble.empty());
}

TEST_CASE_METHOD(watched, "gpu_monitor: a lost GPU is an event, once",
                 "[gpu]") {
  world.write(two_gpus);
  watch();
  world.write("gpu uuid=GPU-aa lost=1\ngpu uuid=GPU-bb name=N total=1\n");
  uut->sample([](const auto&, const auto&) {});
  REQUIRE(told.wait_for_events(2));
  CHECK(told.last_event() == "GPU 0: GPU is lost");
  CHECK(sample().gpus.at(0).trouble == "GPU is lost");
  CHECK(told.event_count() == 3);
  CHECK(told.last_event().empty());
}

TEST_CASE_METHOD(watched,
                 "gpu_monitor: looks at the same time are all answered",
                 "[gpu]") {
  world.write(two_gpus);
  for (auto i = 0; i < 20; ++i)
    uut->sample(told.listener());
  CHECK(told.wait_for_events(20));
  CHECK(told.last().gpus.size() == 2);
}

TEST_CASE_METHOD(watched, "gpu_monitor: a worker's memory is waited for",
                 "[gpu]") {
  world.write(gpu_with_pids("4711,12"));
  uut->await_memory({12, 13}, told.freed_handler(), patience);
  world.write(gpu_with_pids("4711"));
  REQUIRE(told.wait_for_freed());
  CHECK(told.freed.front().empty());
}

TEST_CASE_METHOD(watched,
                 "gpu_monitor: so is that of what a worker has left behind",
                 "[gpu]") {
  const auto left = session{};
  world.write(gpu_with_pids(std::to_string(left.pid)));
  uut->await_memory({left.pid}, told.freed_handler(), 1ms);
  REQUIRE(told.wait_for_freed());
  CHECK(told.freed.front()
        == "GPU memory of ended workers is still held after 1 ms, by process "
             + std::to_string(left.pid) + "; starts the workers all the same");
}

TEST_CASE_METHOD(watched, "gpu_monitor: the memory of others is not waited for",
                 "[gpu]") {
  const auto other = session{};
  world.write(gpu_with_pids(std::to_string(other.pid)));
  uut->await_memory({::getpid()}, told.freed_handler(), patience);
  REQUIRE(told.wait_for_freed());
  CHECK(told.freed.front().empty());
}

TEST_CASE_METHOD(watched, "gpu_monitor: the wait has an end", "[gpu]") {
  world.write(gpu_with_pids("12"));
  uut->await_memory({12}, told.freed_handler(), 30ms);
  REQUIRE(told.wait_for_freed());
  CHECK(told.freed.front().find("after 30 ms, by process 12;")
        != std::string::npos);
}

TEST_CASE_METHOD(watched, "gpu_monitor: nothing is told once it is gone",
                 "[gpu]") {
  world.write(gpu_with_pids("12"));
  watch();
  uut->await_memory({12}, told.freed_handler(), patience);
  uut.reset();
  world.write(gpu_with_pids("") + "xid 0 79\n");
  CHECK(told.event_count() == 1);
  CHECK(told.freed.empty());
}
