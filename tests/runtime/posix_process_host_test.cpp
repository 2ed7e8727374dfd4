#include "actorrun/runtime/detail/posix_process_host.hpp"
#include "actorrun/runtime/detail/reactor.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace actorrun;
using namespace actorrun::detail;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

constexpr auto patience = 20s;
constexpr auto epoch = epoch_id{1};

using clock_type = std::chrono::steady_clock;
using strings = std::vector<std::string>;

template <class Predicate>
bool soon(Predicate holds) {
  const auto deadline = clock_type::now() + patience;
  while (!holds()) {
    if (clock_type::now() > deadline)
      return false;
    std::this_thread::sleep_for(1ms); // Asks again; nothing depends on it.
  }
  return true;
}

// R, S, T, Z … or '-' when there is no such process.
char state_of(pid_t pid) {
  auto file = std::ifstream{"/proc/" + std::to_string(pid) + "/stat"};
  auto text = std::string{};
  std::getline(file, text);
  const auto end = text.rfind(')');
  return end == std::string::npos ? '-' : text[end + 2];
}

// The zombie of an orphan stays where nobody reaps it.
bool runs(pid_t pid) {
  const auto state = state_of(pid);
  return state != '-' && state != 'Z' && state != 'X';
}

bool has_children() {
  return ::waitpid(-1, nullptr, WNOHANG | __WALL) != -1;
}

struct folder {
  fs::path path;

  folder() {
    auto name = (fs::temp_directory_path() / "actorrun-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
  }

  ~folder() { fs::remove_all(path); }

  std::string operator/(const std::string& name) const { return path / name; }
};

std::string describe(const ports::process_started& x) {
  return "started " + std::to_string(x.local_rank);
}

std::string describe(const ports::process_not_started& x) {
  return "not started " + std::to_string(x.local_rank) + ": "
         + strerrorname_np(x.error);
}

std::string describe(const ports::process_exited& x) {
  const auto how = x.signal != 0 ? "signal " + std::to_string(x.signal)
                                 : "code " + std::to_string(x.exit_code);
  return "exited " + std::to_string(x.local_rank) + ": " + how;
}

ports::process_spec worker(uint32_t rank, strings command) {
  return {.local_rank = rank,
          .arguments = std::move(command),
          .environment = {"PATH=/bin:/usr/bin"}};
}

ports::process_spec shell(uint32_t rank, const std::string& script) {
  return worker(rank, {"sh", "-c", script});
}

// A host, and all that its listener was told.
struct fixture {
  reactor loop;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<ports::process_event> events;
  std::vector<size_t> calls; // Facts per call of the listener.
  strings notes;
  std::unique_ptr<posix_process_host> uut
      = std::make_unique<posix_process_host>(loop, [this](const auto& text) {
          const auto lock = std::lock_guard{mutex};
          notes.push_back(text);
          changed.notify_all();
        });

  void start(std::vector<ports::process_spec> specs, epoch_id x = epoch) {
    uut->start(x, std::move(specs), [this](auto facts) {
      const auto lock = std::lock_guard{mutex};
      calls.push_back(facts.size());
      events.insert(events.end(), facts.begin(), facts.end());
      changed.notify_all();
    });
  }

  bool wait(const std::function<bool()>& holds) {
    auto lock = std::unique_lock{mutex};
    return changed.wait_for(lock, patience, holds);
  }

  bool wait_for_events(size_t count) {
    return wait([&] { return events.size() >= count; });
  }

  template <class F>
  void on_thread(F fn) {
    auto done = std::promise<void>{};
    loop.post([&] {
      fn();
      done.set_value();
    });
    done.get_future().wait();
  }

  std::string trace() {
    const auto lock = std::lock_guard{mutex};
    auto result = std::string{};
    for (const auto& event : events) {
      result += result.empty() ? "" : "; ";
      result += std::visit([](const auto& x) { return describe(x); }, event);
    }
    return result;
  }

  template <class T>
  std::vector<T> all() {
    const auto lock = std::lock_guard{mutex};
    auto result = std::vector<T>{};
    for (const auto& event : events)
      if (const auto* x = std::get_if<T>(&event))
        result.push_back(*x);
    return result;
  }

  pid_t pid_of(uint32_t rank) {
    for (const auto& x : all<ports::process_started>())
      if (x.local_rank == rank)
        return x.pid;
    return 0;
  }
};

// Waits for a process to tell its pid in a file.
pid_t read_pid(const std::string& file) {
  auto pid = pid_t{0};
  soon([&] {
    auto stream = std::ifstream{file};
    auto text = std::string{};
    if (!std::getline(stream, text) || stream.eof())
      return false; // Not a whole line yet.
    pid = std::stoi(text);
    return true;
  });
  return pid;
}

std::string tell_pid(const std::string& file) {
  return "sleep 1000 & echo $! > " + file + "; ";
}

} // namespace

TEST_CASE_METHOD(fixture, "process host: a worker's exit code is told",
                 "[runtime]") {
  start({shell(5, "exit 7")});
  REQUIRE(wait_for_events(2));
  CHECK(trace() == "started 5; exited 5: code 7");
  const auto exits = all<ports::process_exited>();
  CHECK(exits[0].pid == pid_of(5));
  CHECK(exits[0].epoch == epoch);
  CHECK(!exits[0].dumped);
}

TEST_CASE_METHOD(fixture, "process host: a worker's death by signal is told",
                 "[runtime]") {
  start({shell(0, "kill -9 $$"), shell(1, "exit 255")});
  REQUIRE(wait_for_events(4));
  auto exits = all<ports::process_exited>();
  std::ranges::sort(exits, {}, &ports::process_exited::local_rank);
  CHECK(exits[0].signal == SIGKILL);
  CHECK(exits[1].signal == 0);
  CHECK(exits[1].exit_code == 255);
}

TEST_CASE_METHOD(fixture, "process host: what cannot start is told with errno",
                 "[runtime]") {
  const auto here = folder{};
  std::ofstream{here / "denied"} << "x";
  std::ofstream{here / "text"} << "x";
  ::chmod((here / "text").c_str(), 0755);
  start({worker(0, {"no-such-program"}), worker(1, {here / "denied"}),
         worker(2, {here / "text"}), worker(3, {}), worker(4, {"true"})});
  REQUIRE(wait_for_events(6));
  CHECK(trace()
        == "not started 0: ENOENT; not started 1: EACCES; "
           "not started 2: ENOEXEC; not started 3: EINVAL; started 4; "
           "exited 4: code 0");
}

TEST_CASE_METHOD(fixture, "process host: of 300 processes none is lost",
                 "[runtime]") {
  constexpr auto count = 300U;
  auto specs = std::vector<ports::process_spec>{};
  for (auto i = 0U; i < count; ++i)
    specs.push_back(shell(i, "exit " + std::to_string(i % 200)));
  start(std::move(specs));
  REQUIRE(wait_for_events(2 * count));
  const auto starts = all<ports::process_started>();
  const auto exits = all<ports::process_exited>();
  REQUIRE(starts.size() == count);
  REQUIRE(exits.size() == count);
  auto ranks = std::set<uint32_t>{};
  for (const auto& x : exits) {
    ranks.insert(x.local_rank);
    CHECK(x.exit_code == static_cast<int>(x.local_rank % 200));
    CHECK(x.signal == 0);
  }
  CHECK(ranks.size() == count);
}

TEST_CASE_METHOD(fixture, "process host: facts of a start come in portions",
                 "[runtime]") {
  auto specs = std::vector<ports::process_spec>{};
  for (auto i = 0U; i < 130; ++i)
    specs.push_back(worker(i, {"no-such-program"}));
  start(std::move(specs));
  REQUIRE(wait_for_events(130));
  CHECK(calls == std::vector<size_t>{64, 64, 2});
}

TEST_CASE_METHOD(fixture, "process host: exits of one round come in one call",
                 "[runtime]") {
  auto specs = std::vector<ports::process_spec>{};
  for (auto i = 0U; i < 8; ++i)
    specs.push_back(worker(i, {"sleep", "1000"}));
  start(std::move(specs));
  REQUIRE(wait_for_events(8));
  const auto starts = all<ports::process_started>();
  on_thread([&] { // The host sees nothing until all have ended.
    for (const auto& x : starts) {
      ::kill(x.pid, SIGTERM);
      auto info = siginfo_t{};
      const auto id = static_cast<id_t>(x.pid);
      CHECK(::waitid(P_PID, id, &info, WEXITED | WNOWAIT) == 0);
    }
  });
  REQUIRE(wait_for_events(16));
  CHECK(calls == std::vector<size_t>{8, 8});
}

TEST_CASE_METHOD(fixture, "process host: the environment is the one given",
                 "[runtime]") {
  const auto here = folder{};
  auto spec = shell(0, "/usr/bin/env > " + (here / "env"));
  spec.environment.push_back("RANK=3");
  start({spec});
  REQUIRE(wait_for_events(2));
  auto lines = std::set<std::string>{};
  auto file = std::ifstream{here / "env"};
  for (auto line = std::string{}; std::getline(file, line);)
    lines.insert(line);
  lines.erase("_=/usr/bin/env"); // Some shells add these two.
  std::erase_if(lines, [](const auto& x) { return x.starts_with("PWD="); });
  CHECK(lines == std::set<std::string>{"PATH=/bin:/usr/bin", "RANK=3"});
}

TEST_CASE_METHOD(fixture, "process host: a signal reaches the whole group",
                 "[runtime]") {
  const auto here = folder{};
  start({shell(0, tell_pid(here / "a") + "wait"),
         shell(1, tell_pid(here / "b") + "exit 3")});
  REQUIRE(wait_for_events(3)); // The second leader has ended.
  const auto a = read_pid(here / "a");
  const auto b = read_pid(here / "b");
  CHECK(runs(b)); // Its group is left alone until somebody says so.
  uut->signal(epoch_id{2}, SIGKILL);
  uut->signal(epoch, SIGTERM);
  REQUIRE(wait_for_events(4));
  CHECK(soon([&] { return !runs(a) && !runs(b); }));
}

TEST_CASE_METHOD(fixture, "process host: a release ends what is left",
                 "[runtime]") {
  const auto here = folder{};
  start({shell(0, "trap '' TERM; " + tell_pid(here / "a") + "exit 0")});
  REQUIRE(wait_for_events(2));
  const auto leader = pid_of(0);
  const auto left = read_pid(here / "a");
  CHECK(state_of(leader) == 'Z'); // Keeps the id of the group.
  CHECK(runs(left));
  uut->release(epoch);
  CHECK(soon([&] { return !runs(left); }));
  CHECK(soon([&] { return state_of(leader) == '-'; }));
}

TEST_CASE_METHOD(fixture, "process host: epochs follow each other",
                 "[runtime]") {
  for (auto i = 1U; i <= 5; ++i) {
    start({worker(0, {"true"}), worker(1, {"false"})}, epoch_id{i});
    REQUIRE(wait_for_events(4 * i));
    uut->release(epoch_id{i});
  }
  const auto exits = all<ports::process_exited>();
  REQUIRE(exits.size() == 10);
  CHECK(exits.back().epoch == epoch_id{5});
}

TEST_CASE_METHOD(fixture,
                 "process host: a release of running workers tells "
                 "their end",
                 "[runtime]") {
  start({worker(0, {"sleep", "1000"})});
  uut->release(epoch);
  REQUIRE(wait_for_events(2));
  CHECK(trace() == "started 0; exited 0: signal 9");
  CHECK(soon([&] { return state_of(pid_of(0)) == '-'; }));
}

TEST_CASE_METHOD(fixture, "process host: nothing is left when it has gone",
                 "[runtime]") {
  const auto here = folder{};
  start({shell(0, "trap '' TERM; " + tell_pid(here / "a") + "wait"),
         shell(1, "exit 0")});
  REQUIRE(wait_for_events(3));
  const auto left = read_pid(here / "a");
  uut.reset();
  CHECK(!has_children());
  CHECK(soon([&] { return !runs(left); }));
}

TEST_CASE_METHOD(fixture, "process host: a host that reaps takes the exit code",
                 "[runtime]") {
  start({worker(0, {"sleep", "1000"}), worker(1, {"sleep", "1000"})});
  REQUIRE(wait_for_events(2));
  const auto pid = pid_of(0);
  on_thread([&] {
    ::kill(pid, SIGTERM);
    CHECK(::waitpid(pid, nullptr, 0) == pid);
  });
  REQUIRE(wait_for_events(3));
  CHECK(trace() == "started 0; started 1; exited 0: code 255");
  CHECK(notes.size() == 1);
  uut->signal(epoch, SIGTERM); // Harms no stranger, reaches the rest.
  REQUIRE(wait_for_events(4));
  uut->release(epoch);
}

TEST_CASE_METHOD(fixture, "process host: a host may ignore SIGCHLD",
                 "[runtime]") {
  const auto old = std::signal(SIGCHLD, SIG_IGN);
  start({worker(0, {"true"})});
  const auto told = wait_for_events(2);
  uut.reset();
  std::signal(SIGCHLD, old);
  REQUIRE(told);
  CHECK(trace() == "started 0; exited 0: code 255");
}

TEST_CASE_METHOD(fixture,
                 "process host: adopted orphans of a session are "
                 "ended with it",
                 "[runtime]") {
  const auto here = folder{};
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  // With job control a background job has a group of its own.
  start({worker(
      0, {"bash", "-c", "set -m; sleep 1000 & echo $! > " + (here / "a")})});
  REQUIRE(wait_for_events(2));
  const auto orphan = read_pid(here / "a");
  CHECK(::getpgid(orphan) == orphan);
  CHECK(runs(orphan));
  const auto own = ::fork(); // Not ours to end.
  if (own == 0) {
    ::setsid();
    ::pause();
    ::_exit(0);
  }
  uut->release(epoch);
  CHECK(soon([&] { return state_of(orphan) == '-'; }));
  CHECK(soon([&] { return state_of(pid_of(0)) == '-'; }));
  CHECK(runs(own));
  ::kill(own, SIGKILL);
  ::waitpid(own, nullptr, 0);
  uut.reset();
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
  CHECK(!has_children());
}

TEST_CASE_METHOD(fixture,
                 "process host: a start that the fence overtakes "
                 "does not happen",
                 "[runtime]") {
  start({worker(0, {"sleep", "1000"})});
  REQUIRE(wait_for_events(1));
  const auto first = pid_of(0);
  on_thread([&] {
    start({worker(1, {"true"})}, epoch_id{2});
    uut->set_fence(clock_type::now());
    auto info = siginfo_t{};
    const auto id = static_cast<id_t>(first);
    CHECK(::waitid(P_PID, id, &info, WEXITED | WNOWAIT) == 0);
  });
  REQUIRE(wait_for_events(3));
  start({worker(2, {"true"})}, epoch_id{3});
  REQUIRE(wait_for_events(5));
  auto text = trace();
  CHECK(text.find("exited 0: signal 9") != std::string::npos);
  CHECK(text.find("not started 1: ECANCELED") != std::string::npos);
  CHECK(text.find("exited 2: code 0") != std::string::npos);
}

TEST_CASE_METHOD(fixture, "process host: a dead warden is noted and replaced",
                 "[runtime]") {
  start({worker(0, {"true"})});
  REQUIRE(wait_for_events(2));
  uut->release(epoch);
  auto first = pid_t{};
  on_thread([&] { first = uut->warden_pid(); });
  REQUIRE(first > 0);
  ::kill(first, SIGKILL);
  REQUIRE(wait([&] { return !notes.empty(); }));
  start({worker(0, {"sleep", "1000"})}, epoch_id{2});
  REQUIRE(wait_for_events(3));
  auto second = pid_t{};
  on_thread([&] { second = uut->warden_pid(); });
  CHECK(second > 0);
  CHECK(second != first);
  uut->set_fence(clock_type::now());
  CHECK(wait_for_events(4));
}

// -- an agent that cannot help itself -----------------------------------------

namespace {

struct agent_pids {
  pid_t warden = 0;
  pid_t bystander = 0; // A fork of the host program: keeps all that is open.
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
    host.on_thread([&] { told.warden = host.uut->warden_pid(); });
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

TEST_CASE("process host: a killed agent leaves nothing behind", "[runtime]") {
  auto test = agent{};
  CHECK(test.workers_run());
  CHECK(runs(test.pids.warden));
  ::kill(test.pid, SIGKILL);
  CHECK(soon([&] { return !test.workers_run(); }));
  CHECK(soon([&] { return !runs(test.pids.warden); }));
}

TEST_CASE("process host: an agent killed while it starts leaves nothing",
          "[runtime]") {
  for (auto delay = 0ms; delay <= 60ms; delay += 4ms) {
    auto fds = std::array<int, 2>{};
    REQUIRE(::pipe2(fds.data(), O_CLOEXEC) == 0);
    const auto pid = ::fork();
    if (pid == 0) {
      ::dup2(fds[1], STDOUT_FILENO); // All workers and their children have it.
      auto host = fixture{};
      auto specs = std::vector<ports::process_spec>{};
      for (auto i = 0U; i < 200; ++i)
        specs.push_back(shell(i, "sleep 1000 & wait"));
      host.start(std::move(specs));
      host.wait_for_events(1000);
      ::_exit(1);
    }
    ::close(fds[1]);
    auto fd = pollfd{.fd = fds[0], .events = POLLIN, .revents = 0};
    CHECK(::poll(&fd, 1, static_cast<int>(delay.count())) == 0);
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    // The end of the file comes when nobody holds it any more.
    const auto limit = std::chrono::milliseconds{patience}.count();
    CHECK(::poll(&fd, 1, static_cast<int>(limit)) == 1);
    CHECK(fd.revents == POLLHUP);
    ::close(fds[0]);
  }
}

TEST_CASE("process host: the fence holds for a stopped agent", "[runtime]") {
  auto test = agent{2s};
  CHECK(test.workers_run());
  ::kill(test.pid, SIGSTOP);
  CHECK(soon([&] { return state_of(test.pid) == 'T'; }));
  CHECK(soon([&] { return !test.workers_run(); }));
  CHECK(state_of(test.pid) == 'T');
  ::kill(test.pid, SIGKILL);
  CHECK(soon([&] { return !runs(test.pids.warden); }));
}
