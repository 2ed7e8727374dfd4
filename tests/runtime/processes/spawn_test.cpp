#include "runtime/processes/spawn.hpp"
#include "tests/runtime/script_folder.hpp"
#include "tests/support/catch.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace actorrun::test::spawn_test {

using namespace actorrun::detail;
using actorrun::detail::script_test::folder;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

using strings = std::vector<std::string>;

constexpr auto timeout = 10s;

siginfo_t wait_for(const spawned& child) {
  auto info = siginfo_t{};
  const auto id = static_cast<id_t>(child.pidfd.get());
  REQUIRE(::waitid(P_PIDFD, id, &info, WEXITED) == 0);
  return info;
}

void end(const spawned& child) {
  ::kill(child.pid, SIGKILL);
  wait_for(child);
}

bool has_children() {
  return ::waitpid(-1, nullptr, WNOHANG | __WALL) != -1;
}

std::string status_line(pid_t pid, const std::string& name) {
  auto file = std::ifstream{"/proc/" + std::to_string(pid) + "/status"};
  for (auto line = std::string{}; std::getline(file, line);)
    if (line.starts_with(name + ":"))
      return line.substr(line.find_first_not_of(" \t", name.size() + 1));
  return "?";
}

std::set<std::string> descriptors(pid_t pid) {
  auto result = std::set<std::string>{};
  auto error = std::error_code{};
  const auto path = "/proc/" + std::to_string(pid) + "/fd";
  for (const auto& x : fs::directory_iterator{path, error})
    result.insert(x.path().filename());
  return result;
}

// Waits until it holds; false if it does not in time.
template <class Predicate>
bool soon(Predicate holds) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > deadline)
      return false;
    std::this_thread::yield();
  }
  return true;
}

int error_of(const std::string& path) {
  auto uut = spawner{};
  const auto child = uut.start(path, {path}, {});
  CHECK(child.pid == 0);
  CHECK(!child.pidfd);
  return child.error;
}

struct recording_gate final : child_gate {
  std::atomic<pid_t> entered{0};
  std::atomic<bool> left{false};
  int answer = 0;

  int enter(pid_t self) noexcept override {
    entered = self;
    return answer;
  }

  void leave() noexcept override { left = true; }
};

} // namespace

TEST_CASE("spawn: arguments and environment arrive as given", "[runtime]") {
  auto uut = spawner{};
  const auto script = "test \"$0 $1 $A\" = \"name x y z\" && test -z \"$HOME\"";
  const auto child
    = uut.start("/bin/sh", {"sh", "-c", script, "name", "x y"}, {"A=z"});
  REQUIRE(child.error == 0);
  const auto info = wait_for(child);
  CHECK(info.si_code == CLD_EXITED);
  CHECK(info.si_status == 0);
  CHECK(info.si_pid == child.pid);
}

TEST_CASE("spawn: the child has descriptors 0, 1 and 2 only", "[runtime]") {
  const auto leaking = unique_fd{::open("/dev/null", O_RDONLY)};
  const auto high = unique_fd{::fcntl(leaking.get(), F_DUPFD, 500)};
  REQUIRE(high);
  auto uut = spawner{};
  const auto child = uut.start("/bin/sleep", {"sleep", "1000"}, {});
  REQUIRE(child.error == 0);
  // The loader opens libraries for a moment; a leak would remain.
  const auto expected = std::set<std::string>{"0", "1", "2"};
  CHECK(soon([&] { return descriptors(child.pid) == expected; }));
  CHECK(::fcntl(high.get(), F_GETFD) == 0);
  end(child);
}

TEST_CASE("spawn: given descriptors become 3, 4 and so on", "[runtime]") {
  const auto here = folder{};
  // Numbers that are targets of others, and one that is an output.
  auto fds = std::vector<int>{};
  for (const auto* name : {"a", "b", "c"})
    fds.push_back(::open((here.path / name).c_str(), O_CREAT | O_RDWR, 0600));
  const auto given = std::array{fds[2], fds[0], STDOUT_FILENO, fds[1], fds[2]};
  auto uut = spawner{};
  const auto child
    = uut.start("/bin/sleep", {"sleep", "1000"}, {}, nullptr,
                {.out = fds[0], .err = fds[1], .descriptors = given});
  REQUIRE(child.error == 0);
  const auto own_out = fs::read_symlink("/proc/self/fd/1");
  const auto at = [&](int fd) {
    const auto base = "/proc/" + std::to_string(child.pid) + "/fd/";
    return fs::read_symlink(base + std::to_string(fd));
  };
  CHECK(at(1) == here.path / "a");
  CHECK(at(2) == here.path / "b");
  CHECK(at(3) == here.path / "c");
  CHECK(at(4) == here.path / "a");
  CHECK(at(5) == own_out);
  CHECK(at(6) == here.path / "b");
  CHECK(at(7) == here.path / "c");
  const auto expected
    = std::set<std::string>{"0", "1", "2", "3", "4", "5", "6", "7"};
  CHECK(soon([&] { return descriptors(child.pid) == expected; }));
  end(child);
  for (const auto fd : fds)
    ::close(fd);
}

TEST_CASE("spawn: as many descriptors as are possible arrive", "[runtime]") {
  const auto null = unique_fd{::open("/dev/null", O_RDONLY)};
  const auto given = std::vector<int>(descriptor_count_max, null.get());
  auto uut = spawner{};
  const auto child = uut.start("/bin/sleep", {"sleep", "1000"}, {}, nullptr,
                               {.descriptors = given});
  REQUIRE(child.error == 0);
  CHECK(
    soon([&] { return descriptors(child.pid).size() == 3 + given.size(); }));
  end(child);
}

TEST_CASE("spawn: a descriptor that is not open is an errno", "[runtime]") {
  const auto given = std::array{::fcntl(0, F_DUPFD, 900)};
  ::close(given[0]);
  auto uut = spawner{};
  const auto child
    = uut.start("/bin/true", {"true"}, {}, nullptr, {.descriptors = given});
  CHECK(child.error == EBADF);
  CHECK(!has_children());
}

TEST_CASE("spawn: signal mask and handlers are clean in the child",
          "[runtime]") {
  const auto old_handler = std::signal(SIGPIPE, SIG_IGN);
  auto blocked = sigset_t{};
  auto old_mask = sigset_t{};
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &old_mask);
  auto uut = spawner{};
  const auto child = uut.start("/bin/sleep", {"sleep", "1000"}, {});
  auto now = sigset_t{};
  ::pthread_sigmask(SIG_SETMASK, &old_mask, &now);
  const auto handler = std::signal(SIGPIPE, old_handler);
  REQUIRE(child.error == 0);
  CHECK(status_line(child.pid, "SigBlk") == "0000000000000000");
  CHECK(status_line(child.pid, "SigIgn") == "0000000000000000");
  CHECK(handler == SIG_IGN); // The parent's handler is unchanged.
  CHECK(sigismember(&now, SIGUSR1) == 1);
  CHECK(sigismember(&now, SIGUSR2) == 0);
  end(child);
}

TEST_CASE("spawn: the child leads its own session and group", "[runtime]") {
  auto uut = spawner{};
  const auto child = uut.start("/bin/sleep", {"sleep", "1000"}, {});
  REQUIRE(child.error == 0);
  CHECK(::getsid(child.pid) == child.pid);
  CHECK(::getpgid(child.pid) == child.pid);
  end(child);
}

TEST_CASE("spawn: the child dies with the thread that started it",
          "[runtime]") {
  auto uut = spawner{};
  auto child = spawned{};
  std::thread{[&] {
    child = uut.start("/bin/sleep", {"sleep", "1000"}, {});
  }}.join();
  REQUIRE(child.error == 0);
  const auto info = wait_for(child);
  CHECK(info.si_code == CLD_KILLED);
  CHECK(info.si_status == SIGKILL);
}

TEST_CASE("spawn: a failed exec is an errno and leaves no child", "[runtime]") {
  const auto here = folder{};
  CHECK(error_of((here.path / "missing").string()) == ENOENT);
  CHECK(error_of(here.file("plain", "text", 0644)) == EACCES);
  CHECK(error_of(here.file("text", "echo", 0755)) == ENOEXEC);
  CHECK(error_of(here.file("lost", "#!/no/such/sh\n", 0755)) == ENOENT);
  CHECK(error_of(here.path.string()) == EACCES);
  CHECK(!has_children());
}

TEST_CASE("spawn: the gate is passed before exec", "[runtime]") {
  auto uut = spawner{};
  auto gate = recording_gate{};
  const auto child = uut.start("/bin/true", {"true"}, {}, &gate);
  REQUIRE(child.error == 0);
  CHECK(gate.entered == child.pid);
  CHECK(!gate.left);
  wait_for(child);
}

TEST_CASE("spawn: the gate can refuse", "[runtime]") {
  const auto here = folder{};
  const auto trace = (here.path / "ran").string();
  auto uut = spawner{};
  auto gate = recording_gate{};
  gate.answer = ECANCELED;
  const auto child = uut.start("/bin/touch", {"touch", trace}, {}, &gate);
  CHECK(child.error == ECANCELED);
  CHECK(gate.left);
  CHECK(!fs::exists(trace));
  CHECK(!has_children());
}

} // namespace actorrun::test::spawn_test
