#include "actorrun/runtime/detail/spawn.hpp"

#include <catch2/catch.hpp>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace actorrun::detail;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

using strings = std::vector<std::string>;

constexpr auto patience = 10s;

struct folder {
  fs::path path;

  folder() {
    auto name = (fs::temp_directory_path() / "actorrun-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
  }

  ~folder() { fs::remove_all(path); }

  std::string file(const std::string& name, const std::string& text,
                   mode_t mode) const {
    const auto full = (path / name).string();
    std::ofstream{full} << text;
    ::chmod(full.c_str(), mode);
    return full;
  }
};

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

// True as soon as it holds, false if it does not in time.
template <class Predicate>
bool soon(Predicate holds) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
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
  // The loader opens libraries for a moment; a leak would stay.
  const auto expected = std::set<std::string>{"0", "1", "2"};
  CHECK(soon([&] { return descriptors(child.pid) == expected; }));
  CHECK(::fcntl(high.get(), F_GETFD) == 0);
  end(child);
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
  CHECK(handler == SIG_IGN); // The parent keeps what it had.
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

TEST_CASE("spawn: programs are found in the child's PATH", "[runtime]") {
  const auto first = folder{};
  const auto second = folder{};
  first.file("denied", "", 0644);
  second.file("denied", "", 0755);
  first.file("closed", "", 0644);
  fs::create_directory(first.path / "folder");
  const auto env = strings{"X=PATH=/no", "PATH=/none:" + first.path.string()
                                           + ":" + second.path.string()};
  auto uut = program_finder{};
  CHECK(uut.find("denied", env).path == (second.path / "denied").string());
  CHECK(uut.find("closed", env).error == EACCES);
  CHECK(uut.find("folder", env).error == EACCES);
  CHECK(uut.find("missing", env).error == ENOENT);
  CHECK(uut.find("", env).error == ENOENT);
  CHECK(uut.find("sh", {}).error == 0);
  CHECK(uut.find("sh", {"PATH=/none"}).error == ENOENT);
}

TEST_CASE("spawn: a program with a slash is taken as it is", "[runtime]") {
  auto uut = program_finder{};
  CHECK(uut.find("./no/where", {}).path == "./no/where");
  CHECK(uut.find("./no/where", {}).error == 0);
}

TEST_CASE("spawn: an empty part of PATH is the working directory",
          "[runtime]") {
  const auto here = folder{};
  here.file("program", "", 0755);
  const auto old = fs::current_path();
  fs::current_path(here.path);
  auto uut = program_finder{};
  const auto found = uut.find("program", {"PATH=/none:"});
  fs::current_path(old);
  CHECK(found.path == "program");
}

TEST_CASE("spawn: a batch looks a program up once", "[runtime]") {
  const auto here = folder{};
  const auto file = here.file("program", "", 0755);
  const auto env = strings{"PATH=" + here.path.string()};
  auto uut = program_finder{};
  CHECK(uut.find("program", env).path == file);
  fs::remove(file);
  CHECK(uut.find("program", env).path == file);
  CHECK(program_finder{}.find("program", env).error == ENOENT);
}
