#include "runtime/os/reactor.hpp"
#include "runtime/processes/spawn.hpp"
#include "runtime/processes/warden.hpp"
#include "tests/runtime/deadline.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/sanitizer.hpp"
#include "tests/support/skip.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace actorrun::test::warden_test {

using namespace actorrun::detail;
using namespace std::chrono_literals;
using namespace test_deadline;

namespace {

/// As in ps(1); empty: there is no such process.
std::string state_of(pid_t pid) {
  auto file = std::ifstream{"/proc/" + std::to_string(pid) + "/stat"};
  auto text = std::string{};
  std::getline(file, text);
  const auto end = text.rfind(')');
  return end == std::string::npos ? "" : text.substr(end + 2, 1);
}

// An orphan's zombie may remain for a while if no process reaps it.
bool runs(pid_t pid) {
  const auto state = state_of(pid);
  return !state.empty() && state != "Z" && state != "X";
}

std::string name_of(pid_t pid) {
  auto file = std::ifstream{"/proc/" + std::to_string(pid) + "/comm"};
  auto name = std::string{};
  std::getline(file, name);
  return name;
}

/// In KiB: how much of this program's code a process has locked in memory.
size_t locked_code_of(pid_t pid) {
  const auto self = std::filesystem::read_symlink("/proc/self/exe").string();
  auto file = std::ifstream{"/proc/" + std::to_string(pid) + "/smaps"};
  auto is_code = false;
  auto size = size_t{0};
  auto sum = size_t{0};
  for (auto line = std::string{}; std::getline(file, line);)
    if (line.find('-') < line.find(' ')) // `401000-9d2000 r-xp … PATH`
      is_code = line.ends_with(self) && line.find(" r-xp ") != line.npos;
    else if (line.starts_with("Size:"))
      size = std::stoul(line.substr(5));
    else if (is_code && line.starts_with("VmFlags:")
             && line.find(" lo") != line.npos)
      sum += size;
  return sum;
}

// A warden with one worker, `sleep`, in its table.
struct guarded_worker {
  reactor loop;
  std::promise<void> lost;
  std::unique_ptr<warden> uut;
  warden::registration place;
  spawner starter;
  spawned child;
  pid_t warden_pid = 0;

  guarded_worker() {
    run([this] {
      uut = std::make_unique<warden>(loop, [this] { lost.set_value(); });
      REQUIRE(uut->ensure() == 0);
      warden_pid = uut->pid();
      start(uut->fire_count());
    });
  }

  ~guarded_worker() {
    run([this] {
      if (child.pid != 0) {
        ::kill(child.pid, SIGKILL);
        place.reset();
        ::waitpid(child.pid, nullptr, 0);
      }
      uut.reset();
    });
  }

  template <class F>
  void run(F fn) {
    auto done = std::promise<void>{};
    loop.post([&] {
      fn();
      done.set_value();
    });
    done.get_future().wait();
  }

  /// The second warden; 0: there is none in time.
  pid_t await_second() {
    auto pid = pid_t{};
    (void)soon([&] {
      run([&] { pid = uut->second_pid(); });
      return pid != 0;
    });
    return pid;
  }

  void start(uint64_t fire_count) {
    place = uut->enlist(fire_count);
    child = starter.start("/bin/sleep", {"sleep", "1000"}, {}, &place);
  }

  siginfo_t wait() const {
    auto info = siginfo_t{};
    const auto id = static_cast<id_t>(child.pidfd.get());
    ::waitid(P_PIDFD, id, &info, WEXITED | WNOWAIT);
    return info;
  }

  bool ends_in(std::chrono::milliseconds limit) const {
    auto fd = pollfd{.fd = child.pidfd.get(), .events = POLLIN, .revents = 0};
    return ::poll(&fd, 1, static_cast<int>(limit.count())) == 1;
  }
};

} // namespace

TEST_CASE("warden: it has a name, a session and four descriptors of its own",
          "[runtime]") {
  auto test = guarded_worker{};
  const auto pid = test.warden_pid;
  REQUIRE(pid > 0);
  CHECK(soon([&] { return name_of(pid) == "arun-warden"; }));
  CHECK(soon([&] { return ::getsid(pid) == pid; }));
  const auto fd = "/proc/" + std::to_string(pid) + "/fd/";
  CHECK(soon([&] { return ::access((fd + "4").c_str(), F_OK) != 0; }));
  CHECK(soon([&] { return ::access((fd + "3").c_str(), F_OK) == 0; }));
}

TEST_CASE("warden: N2 a second one comes; neither is called like the program",
          "[runtime]") {
  auto test = guarded_worker{};
  const auto second = test.await_second();
  REQUIRE(second > 0);
  CHECK(soon([&] { return name_of(second) == "arun-second"; }));
  CHECK(soon([&] { return ::getsid(second) == second; }));
  for (const auto pid : {test.warden_pid, second}) {
    CHECK(name_of(pid).find("actorrun") == std::string::npos);
    auto file = std::ifstream{"/proc/" + std::to_string(pid) + "/cmdline"};
    auto line = std::string{};
    std::getline(file, line);
    CHECK(line.find("arun-") == 0);
    CHECK(line.find("actorrun") == std::string::npos);
  }
}

TEST_CASE("warden: N2 a fence kills the workers also without the first",
          "[runtime]") {
  auto test = guarded_worker{};
  REQUIRE(test.await_second() > 0);
  ::kill(test.warden_pid, SIGSTOP);
  const auto due = clock_type::now() + 30ms;
  test.uut->set_fence(due);
  REQUIRE(test.ends_in(timeout));
  CHECK(clock_type::now() >= due);
  CHECK(test.uut->fire_count() == 1);
}

TEST_CASE("warden: N2 the second is replaced, too", "[runtime]") {
  auto test = guarded_worker{};
  const auto second = test.await_second();
  REQUIRE(second > 0);
  ::kill(second, SIGKILL);
  REQUIRE(test.lost.get_future().wait_for(timeout)
          == std::future_status::ready);
  CHECK(soon([&] {
    const auto pid = test.await_second();
    return pid != 0 && pid != second;
  }));
}

TEST_CASE("warden: signals that end programs do not end it", "[runtime]") {
  auto test = guarded_worker{};
  for (auto x : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGPIPE})
    ::kill(test.warden_pid, x);
  test.uut->set_fence(clock_type::now()); // It still works.
  REQUIRE(test.ends_in(timeout));
  CHECK(test.wait().si_status == SIGKILL);
}

TEST_CASE("warden: a fence kills the workers when it passes", "[runtime]") {
  auto test = guarded_worker{};
  const auto due = clock_type::now() + 30ms;
  test.uut->set_fence(due);
  REQUIRE(test.ends_in(timeout));
  CHECK(clock_type::now() >= due);
  CHECK(test.wait().si_status == SIGKILL);
  CHECK(test.uut->fire_count() == 1);
}

TEST_CASE("warden: a fence that is moved in time does not fire", "[runtime]") {
  auto test = guarded_worker{};
  test.uut->set_fence(clock_type::now() + 300ms);
  test.uut->set_fence(clock_type::now() + 1h);
  CHECK(!test.ends_in(400ms));
  CHECK(test.uut->fire_count() == 0);
}

TEST_CASE("warden: a fence that is removed does not fire", "[runtime]") {
  auto test = guarded_worker{};
  test.uut->set_fence(clock_type::now() + 300ms);
  test.uut->set_fence(core::time_point::max());
  CHECK(!test.ends_in(400ms));
  CHECK(test.uut->fire_count() == 0);
}

TEST_CASE("warden: a fence can move to an earlier time", "[runtime]") {
  auto test = guarded_worker{};
  test.uut->set_fence(clock_type::now() + 1h);
  test.uut->set_fence(clock_type::now() + 10ms);
  CHECK(test.ends_in(timeout));
}

TEST_CASE("warden: it guards again after its fence has fired", "[runtime]") {
  auto test = guarded_worker{};
  for (auto i = 1U; i <= 3; ++i) {
    test.uut->set_fence(clock_type::now());
    REQUIRE(test.ends_in(timeout));
    CHECK(test.uut->fire_count() == i);
    test.run([&] {
      test.place.reset();
      ::waitpid(test.child.pid, nullptr, 0);
      test.start(test.uut->fire_count());
    });
    REQUIRE(test.child.error == 0);
  }
}

TEST_CASE("warden: a worker ordered before the fence fired does not start",
          "[runtime]") {
  auto test = guarded_worker{};
  const auto ordered = test.uut->fire_count();
  test.uut->set_fence(clock_type::now());
  REQUIRE(test.ends_in(timeout));
  test.run([&] {
    auto late = test.uut->enlist(ordered);
    const auto child = test.starter.start("/bin/true", {"true"}, {}, &late);
    CHECK(child.error == ECANCELED);
  });
}

TEST_CASE("warden: a worker that is spared lives on", "[runtime]") {
  auto test = guarded_worker{};
  test.run([&] {
    CHECK(test.place.spare() == 0);
    CHECK(test.place.spare() == 0);
  });
  test.uut->set_fence(clock_type::now());
  CHECK(soon([&] { return test.uut->fire_count() == 1; }));
  CHECK(!test.ends_in(50ms));
  SECTION("as long as it is") {
    test.run([&] { CHECK(test.place.guard(1) == 0); });
    test.uut->set_fence(clock_type::now());
    CHECK(test.ends_in(timeout));
  }
  SECTION("and is not guarded by what was decided before") {
    test.run([&] { CHECK(test.place.guard(0) == ECANCELED); });
  }
}

TEST_CASE("warden: a worker is not spared any more when the fence has fired",
          "[runtime]") {
  auto test = guarded_worker{};
  test.uut->set_fence(clock_type::now());
  CHECK(soon([&] { return test.uut->fire_count() == 1; }));
  test.run([&] { CHECK(test.place.spare() == ECANCELED); });
  CHECK(test.ends_in(timeout));
  SECTION("unless it was guarded since") {
    test.run([&] {
      test.place.reset();
      ::waitpid(test.child.pid, nullptr, 0);
      test.start(test.uut->fire_count());
      CHECK(test.place.spare() == 0);
    });
  }
}

TEST_CASE("warden: a worker outside the table is not touched", "[runtime]") {
  auto test = guarded_worker{};
  test.run([&] { test.place.reset(); });
  test.uut->set_fence(clock_type::now());
  CHECK(soon([&] { return test.uut->fire_count() == 1; }));
  CHECK(!test.ends_in(50ms));
}

TEST_CASE("warden: the table takes the largest worker group and no more",
          "[runtime]") {
  auto test = guarded_worker{};
  test.run([&] {
    test.place.reset();
    auto places = std::vector<warden::registration>{};
    for (auto i = 0U; i < core::slots_per_agent_max; ++i) {
      places.push_back(test.uut->enlist(0));
      CHECK(places.back());
    }
    CHECK(!test.uut->enlist(0));
    places.pop_back();
    CHECK(test.uut->enlist(0));
  });
}

TEST_CASE("warden: its own death is noticed and another one takes its place",
          "[runtime]") {
  auto test = guarded_worker{};
  ::kill(test.warden_pid, SIGKILL);
  REQUIRE(test.lost.get_future().wait_for(timeout)
          == std::future_status::ready);
  CHECK(soon([&] {
    auto pid = pid_t{};
    test.run([&] { pid = test.uut->pid(); });
    return pid != 0 && pid != test.warden_pid;
  }));
  test.uut->set_fence(clock_type::now());
  CHECK(test.ends_in(timeout));
}

TEST_CASE("warden: it ends with its owner and leaves no zombie", "[runtime]") {
  auto pid = pid_t{};
  {
    auto test = guarded_worker{};
    pid = test.warden_pid;
    ::kill(pid, SIGSTOP); // Even while stopped.
  }
  CHECK(!runs(pid));
  CHECK(::waitpid(pid, nullptr, WNOHANG | __WALL) == -1);
  while (::waitpid(-1, nullptr, WNOHANG) > 0) {
  }
}

TEST_CASE("warden: it is invisible to a host that reaps its children",
          "[runtime]") {
  auto test = guarded_worker{};
  test.run([&] {
    ::kill(test.child.pid, SIGKILL);
    test.place.reset();
    ::waitpid(test.child.pid, nullptr, 0);
    test.child.pid = 0;
  });
  CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);
  CHECK(errno == ECHILD);
}

TEST_CASE("warden: it ends with an agent that only exits", "[runtime]") {
  auto fds = std::array<int, 2>{};
  REQUIRE(::pipe2(fds.data(), O_CLOEXEC) == 0);
  const auto agent = ::fork();
  if (agent == 0) {
    auto test = guarded_worker{};
    auto pids = std::array{test.warden_pid, test.child.pid};
    if (::write(fds[1], pids.data(), sizeof pids) != sizeof pids)
      ::_exit(1);
    ::_exit(0); // No destructor runs.
  }
  ::close(fds[1]);
  auto pids = std::array<pid_t, 2>{};
  CHECK(::read(fds[0], pids.data(), sizeof pids) == sizeof pids);
  ::close(fds[0]);
  ::waitpid(agent, nullptr, 0);
  for (auto pid : pids)
    CHECK(soon([&] { return !runs(pid); }));
}

TEST_CASE("warden: N9 what it kills with is kept in memory", "[runtime]") {
  if (actorrun::test::has_address_sanitizer
      || actorrun::test::has_thread_sanitizer)
    return; // With them mlock(2) does nothing.
  auto test = guarded_worker{};
  const auto pids = std::array{test.warden_pid, test.await_second()};
  REQUIRE(pids[1] > 0);
  auto refusal = std::string{};
  for (const auto pid : pids)
    REQUIRE(soon([&] {
      test.run([&] { refusal = test.uut->residence_obstacle(); });
      return locked_code_of(pid) > 0 || !refusal.empty();
    }));
  if (!refusal.empty())
    return actorrun::test::skip("memlock", refusal);
  for (const auto pid : pids)
    CHECK(locked_code_of(pid) > 0);
}

TEST_CASE("warden: N9 it leaves the CPU to an agent that takes its time to end",
          "[runtime]") {
  auto fds = std::array<int, 2>{};
  REQUIRE(::pipe2(fds.data(), O_CLOEXEC) == 0);
  const auto agent = ::fork();
  if (agent == 0) {
    auto test = guarded_worker{};
    auto pids = std::array{test.warden_pid, test.await_second()};
    if (::write(fds[1], pids.data(), sizeof pids) != sizeof pids)
      ::_exit(1);
    // As in the first part of an end: files are closed, and the process is there. On
    // the loop's thread, which would not go on without its files.
    test.run([] {
      ::syscall(SYS_close_range, 3U, ~0U, 0U);
      for (;;)
        ::pause();
    });
  }
  ::close(fds[1]);
  auto pids = std::array<pid_t, 2>{};
  REQUIRE(::read(fds[0], pids.data(), sizeof pids) == sizeof pids);
  auto rest = char{};
  CHECK(::read(fds[0], &rest, 1) == 0); // Its files are closed.
  ::close(fds[0]);
  for (const auto pid : pids)
    CHECK(soon([&] { return state_of(pid) == "S"; }));
  ::kill(agent, SIGKILL);
  ::waitpid(agent, nullptr, 0);
  for (const auto pid : pids)
    CHECK(soon([&] { return !runs(pid); }));
}

} // namespace actorrun::test::warden_test
