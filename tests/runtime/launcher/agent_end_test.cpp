// Tests the workers of an agent that can no longer act. Each test runs an agent
// in a process of its own.
#include "tests/runtime/processes/process_host_fixture.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace actorrun::test::agent_end_test {

using namespace actorrun::detail;
using namespace actorrun::detail::process_host_test;
using namespace std::chrono_literals;

namespace {

struct agent_pids {
  pid_t warden = 0;
  pid_t second = 0;
  pid_t bystander = 0; // A fork of the program: keeps its descriptors open.
  std::array<pid_t, 2> workers{};
};

// A process of its own that runs a host with two workers, each with a child.
struct agent {
  pid_t pid = 0;
  agent_pids pids;
  std::array<pid_t, 2> grandchildren{};
  folder here;

  explicit agent(std::optional<std::chrono::milliseconds> fence = {}) {
    auto fds = std::array<int, 2>{};
    REQUIRE(::pipe2(fds.data(), O_CLOEXEC) == 0);
    pid = ::fork();
    if (pid == 0)
      run(fds[1], fence);
    ::close(fds[1]);
    CHECK(::read(fds[0], &pids, sizeof pids) == sizeof pids);
    ::close(fds[0]);
    for (auto i = 0U; i < 2; ++i)
      grandchildren[i] = read_pid(here / std::to_string(i));
  }

  ~agent() {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    ::kill(pids.bystander, SIGKILL);
  }

  [[noreturn]] void run(int out,
                        std::optional<std::chrono::milliseconds> fence) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    auto host = fixture{};
    if (fence)
      host.uut->set_fence(clock_type::now() + *fence);
    const auto script = [&](int i) {
      return "trap '' TERM HUP; " + tell_pid(here / std::to_string(i)) + "wait";
    };
    host.start({shell(0, script(0)), shell(1, script(1))});
    auto told = agent_pids{};
    if (!host.wait_for_events(2))
      ::_exit(1);
    told.workers = {host.pid_of(0), host.pid_of(1)};
    if (!soon([&] {
          host.on_thread([&] {
            told.warden = host.uut->warden_pid();
            told.second = host.uut->second_warden_pid();
          });
          return told.second != 0;
        }))
      ::_exit(1);
    told.bystander = ::fork();
    if (told.bystander == 0)
      for (;;)
        ::pause();
    if (::write(out, &told, sizeof told) != sizeof told)
      ::_exit(1);
    for (;;)
      ::pause();
  }

  bool workers_run() const {
    return std::ranges::any_of(pids.workers, runs)
           || std::ranges::any_of(grandchildren, runs);
  }
};

} // namespace

TEST_CASE("agent end: a killed agent leaves no process behind", "[runtime]") {
  auto test = agent{};
  CHECK(test.workers_run());
  CHECK(runs(test.pids.warden));
  ::kill(test.pid, SIGKILL);
  CHECK(soon([&] { return !test.workers_run(); }));
  CHECK(soon([&] { return !runs(test.pids.warden); }));
  CHECK(soon([&] { return !runs(test.pids.second); }));
}

TEST_CASE(
  "agent end: N2 an agent killed with a warden leaves no process behind",
  "[runtime]") {
  auto test = agent{};
  const auto warden = GENERATE(&agent_pids::warden, &agent_pids::second);
  CHECK(test.workers_run());
  ::kill(test.pid, SIGKILL);
  ::kill(test.pids.*warden, SIGKILL);
  CHECK(soon([&] { return !test.workers_run(); }));
  CHECK(soon([&] { return !runs(test.pids.warden); }));
  CHECK(soon([&] { return !runs(test.pids.second); }));
}

TEST_CASE("agent end: an agent killed while it starts leaves no process",
          "[runtime]") {
  using maker = std::function<ports::process_spec(uint32_t)>;
  const auto leave_more = [] { return std::system("sleep 1000 & wait"); };
  const auto makers = std::vector<maker>{
    [](uint32_t i) { return shell(i, "sleep 1000 & wait"); },
    [=](uint32_t i) { return function(i, leave_more); },
    [](uint32_t i) { return served(i, {"leave"}); }};
  const auto& make = makers[GENERATE(size_t{0}, size_t{1}, size_t{2})];
  for (auto delay = 0ms; delay <= 60ms; delay += 4ms) {
    auto fds = std::array<int, 2>{};
    REQUIRE(::pipe2(fds.data(), O_CLOEXEC) == 0);
    const auto pid = ::fork();
    if (pid == 0) {
      // Inherited by all workers and their children.
      ::dup2(fds[1], STDOUT_FILENO);
      auto host = fixture{};
      auto specs = std::vector<ports::process_spec>{};
      for (auto i = 0U; i < 200; ++i)
        specs.push_back(make(i));
      host.start(std::move(specs));
      host.wait_for_events(1000);
      ::_exit(1);
    }
    ::close(fds[1]);
    auto fd = pollfd{.fd = fds[0], .events = POLLIN, .revents = 0};
    CHECK(::poll(&fd, 1, static_cast<int>(delay.count())) == 0);
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    // The pipe ends when no process has it open any more.
    const auto limit = std::chrono::milliseconds{timeout}.count();
    CHECK(::poll(&fd, 1, static_cast<int>(limit)) == 1);
    CHECK(fd.revents == POLLHUP);
    ::close(fds[0]);
  }
}

TEST_CASE("agent end: the fence works for a stopped agent", "[runtime]") {
  auto test = agent{2s};
  CHECK(test.workers_run());
  ::kill(test.pid, SIGSTOP);
  CHECK(soon([&] { return state_of(test.pid) == 'T'; }));
  CHECK(soon([&] { return !test.workers_run(); }));
  CHECK(state_of(test.pid) == 'T');
  ::kill(test.pid, SIGKILL);
  CHECK(soon([&] { return !runs(test.pids.warden); }));
}

} // namespace actorrun::test::agent_end_test
