#include "runtime/devices/gpu_memory_watch.hpp"
#include "tests/runtime/devices/gpu_fixture.hpp"

#include <chrono>
#include <csignal>
#include <memory>
#include <string>
#include <utility>

#include <sys/wait.h>
#include <unistd.h>

namespace actorrun::test::gpu_memory_watch_test {

using namespace actorrun::detail;
using namespace actorrun::detail::gpu_test;
using namespace std::chrono_literals;

namespace {

/// The reports of a watch.
struct complaints : notes<std::string> {
  gpu_memory_watch::freed_handler handler() {
    return [this](std::string complaint) { add(std::move(complaint)); };
  }

  /// The first report.
  std::string wait() {
    REQUIRE(wait_for(1));
    return last();
  }
};

/// A watch over a stand-in. The watch is destroyed first.
struct watched {
  standin world;
  complaints told;
  std::unique_ptr<gpu_memory_watch> uut = std::make_unique<gpu_memory_watch>();

  void write_pids(const std::string& pids) {
    world.write("gpu uuid=GPU-a name=N total=2 used=1 pids=" + pids + "\n");
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

} // namespace

TEST_CASE("gpu_memory_watch: it does not wait for processes without memory",
          "[gpu][anygpu]") {
  const auto gpus = any_gpus{};
  if (!gpus.are_there())
    return;
  auto told = complaints{};
  auto uut = gpu_memory_watch{};
  uut.await({::getpid()}, told.handler(), 10s);
  CHECK(told.wait().empty());
}

TEST_CASE_METHOD(watched, "gpu_memory_watch: a worker's memory is waited for",
                 "[gpu]") {
  write_pids("4711,12");
  uut->await({12, 13}, told.handler(), timeout);
  write_pids("4711");
  CHECK(told.wait().empty());
}

TEST_CASE_METHOD(
  watched, "gpu_memory_watch: memory of a worker's child processes is, too",
  "[gpu]") {
  const auto left = session{};
  write_pids(std::to_string(left.pid));
  uut->await({left.pid}, told.handler(), 100ms);
  CHECK(told.wait()
        == "GPU memory of ended workers is still held after 100 ms, by process "
             + std::to_string(left.pid) + "; starts the workers all the same");
}

TEST_CASE_METHOD(
  watched, "gpu_memory_watch: memory of other processes is not waited for",
  "[gpu]") {
  const auto other = session{};
  write_pids(std::to_string(other.pid));
  uut->await({::getpid()}, told.handler(), timeout);
  CHECK(told.wait().empty());
}

TEST_CASE_METHOD(watched, "gpu_memory_watch: the wait is bounded", "[gpu]") {
  write_pids("12");
  uut->await({12}, told.handler(), 100ms);
  CHECK(told.wait().find("after 100 ms, by process 12;") != std::string::npos);
}

TEST_CASE_METHOD(watched, "gpu_memory_watch: it ends although the driver hangs",
                 "[gpu]") {
  world.write("hang\ngpu uuid=GPU-a pids=12\n");
  uut->await({12}, told.handler(), 100ms);
  CHECK(
    told.wait()
    == "the NVIDIA driver has not reported for 100 ms whether GPU memory of "
       "ended workers is free; starts the workers all the same");
}

TEST_CASE_METHOD(watched, "gpu_memory_watch: several waits do not mix",
                 "[gpu]") {
  auto others = complaints{};
  write_pids("12,13");
  uut->await({12}, told.handler(), timeout);
  uut->await({13}, others.handler(), timeout);
  write_pids("13");
  CHECK(told.wait().empty());
  CHECK(others.count() == 0);
  write_pids("");
  CHECK(others.wait().empty());
  CHECK(told.count() == 1);
}

TEST_CASE_METHOD(watched, "gpu_memory_watch: it reports nothing after its end",
                 "[gpu]") {
  write_pids("12");
  uut->await({12}, told.handler(), timeout);
  uut.reset();
  write_pids("");
  CHECK(told.count() == 0);
}

} // namespace actorrun::test::gpu_memory_watch_test
