// Servers that are slow, stuck, or gone; forks, threads, other languages.
#include "tests/runtime/deadline.hpp"
#include "tests/support/catch.hpp"
#include "tests/worker/timers_fixture.hpp"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>

namespace actorrun::test::timers_server_test {

using namespace actorrun::worker;
using namespace std::chrono_literals;
using actorrun::detail::test_deadline::soon;

using fixture = test_timers::timers_fixture;

namespace {

/// More lines than a full FIFO and an outbox hold together.
constexpr int line_count_max = 10'000;

size_t thread_count() {
  auto count = size_t{0};
  for (const auto& x : std::filesystem::directory_iterator{"/proc/self/task"})
    count += x.exists();
  return count;
}

/// For the shell: its folder may have a space.
const auto timers_child = std::string{"'"} + TIMERS_CHILD + "'";

// The descriptor with which this process writes to a FIFO; -1: none.
int writer_of(const std::string& path) {
  for (const auto& x : std::filesystem::directory_iterator{"/proc/self/fd"}) {
    const auto fd = std::stoi(x.path().filename());
    auto error = std::error_code{};
    if (std::filesystem::read_symlink(x.path(), error) == path
        && (::fcntl(fd, F_GETFL) & O_ACCMODE) == O_WRONLY)
      return fd;
  }
  return -1;
}

std::string output_of(const std::string& command) {
  auto text = std::string{};
  auto* pipe = ::popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe))
    text += static_cast<char>(c);
  REQUIRE(::pclose(pipe) == 0);
  return text;
}

} // namespace

TEST_CASE_METHOD(fixture, "timers: a server that is slow loses nothing",
                 "[worker]") {
  REQUIRE(configure(path) == timer_status::ok);
  const auto lost_before = lost_timer_count();
  std::thread{[] {
  }}.join(); // A sanitizer starts a thread of its own with the first.
  const auto threads_before = thread_count();
  // More than the FIFO's 64 KiB, but less than FIFO and outbox together.
  constexpr int line_count = 900;
  for (int i = 0; i < line_count; ++i)
    REQUIRE(acquire(std::to_string(i), 1h) == timer_status::ok);
  CHECK(thread_count() > threads_before);
  CHECK(lost_timer_count() == lost_before);
  auto found = std::vector<std::string>{};
  REQUIRE(soon([&] {
    for (const auto& x : read())
      found.push_back(x.scope);
    return found.size() >= line_count;
  }));
  for (int i = 0; i < line_count; ++i)
    REQUIRE(found.at(static_cast<size_t>(i)) == std::to_string(i));
  // The thread is not needed any more.
  CHECK(soon([&] { return thread_count() == threads_before; }));
  CHECK(release("end") == timer_status::ok);
  CHECK(read_scopes() == "-end");
}

TEST_CASE_METHOD(fixture, "timers: a server that is stuck delays no worker",
                 "[worker]") {
  REQUIRE(configure(path) == timer_status::ok);
  const auto lost_before = lost_timer_count();
  auto count = 0;
  while (acquire("a", 1h) == timer_status::ok)
    REQUIRE(++count < line_count_max);
  CHECK(acquire("a", 1h) == timer_status::lost);
  CHECK(lost_timer_count() == lost_before + 2);
  // Once the server is known to be stuck, a call takes less than a millisecond.
  using clock = std::chrono::steady_clock;
  REQUIRE(soon([] {
    const auto start = clock::now();
    for (int i = 0; i < 100; ++i)
      acquire("a", 1h);
    return clock::now() - start < 50ms;
  }));
  // The server is back: the lines that waited come first.
  auto last = std::string{};
  REQUIRE(soon([&] {
    release("back");
    for (const auto& x : read())
      last = x.scope;
    return last == "back";
  }));
}

TEST_CASE_METHOD(fixture, "timers: a server that is gone is harmless",
                 "[worker]") {
  REQUIRE(std::signal(SIGPIPE, SIG_DFL) != SIG_ERR);
  REQUIRE(configure(path) == timer_status::ok);
  CHECK(acquire("a", 1s) == timer_status::ok);
  CHECK(read_scopes() == "+a");
  close_server();
  CHECK(release("a") == timer_status::no_server); // And the process survives.
  CHECK(release("a") == timer_status::no_server);
  open_server();
  CHECK(soon([] { return release("b") == timer_status::ok; }));
  CHECK(read_scopes() == "-b");
}

TEST_CASE_METHOD(fixture, "timers: the program's own SIGPIPE is left to it",
                 "[worker]") {
  REQUIRE(configure(path) == timer_status::ok);
  auto pipe = sigset_t{};
  auto before = sigset_t{};
  auto pending = sigset_t{};
  ::sigemptyset(&pipe);
  ::sigaddset(&pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe, &before);
  close_server();
  release("a");
  ::sigpending(&pending);
  CHECK(::sigismember(&pending, SIGPIPE) == 0);
  open_server();
  REQUIRE(configure(path) == timer_status::ok);
  ::pthread_kill(::pthread_self(), SIGPIPE);
  close_server();
  release("a");
  ::sigpending(&pending);
  CHECK(::sigismember(&pending, SIGPIPE) == 1);
  auto taken = 0;
  ::sigwait(&pipe, &taken);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST_CASE_METHOD(fixture, "timers: a forked child has timers of its own",
                 "[worker]") {
  REQUIRE(configure(path) == timer_status::ok);
  const auto guard = expires(1h, "of the parent");
  const auto child = ::fork();
  if (child == 0) {
    const auto own = acquire("of the child", 1s);
    ::_exit(own == timer_status::ok ? 0 : 1);
  }
  REQUIRE(child > 0);
  auto status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  release("x");
  auto pids = std::map<std::string, int64_t>{};
  for (const auto& x : read())
    pids[x.scope] = x.pid;
  CHECK(pids
        == std::map<std::string, int64_t>{{"of the child", child},
                                          {"of the parent", ::getpid()},
                                          {"x", ::getpid()}});
}

TEST_CASE_METHOD(fixture,
                 "timers: a forked child may use the number of the FIFO",
                 "[worker]") {
  REQUIRE(configure(path) == timer_status::ok);
  REQUIRE(acquire("of the parent", 1h) == timer_status::ok);
  const auto fd = writer_of(path);
  REQUIRE(fd >= 0);
  const auto other = folder + "/other";
  const auto child = ::fork();
  if (child == 0) {
    const auto file = ::open(other.c_str(), O_WRONLY | O_CREAT, 0600);
    if (file != fd) // A child has closed the FIFO, and this has its number.
      ::dup2(file, fd);
    const auto is_ok = acquire("of the child", 1h) == timer_status::ok
                       && ::write(fd, "text", 4) == 4;
    ::_exit(is_ok ? 0 : 1);
  }
  REQUIRE(child > 0);
  auto status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(std::filesystem::file_size(other) == 4);
  CHECK(read_scopes() == "+of the parent +of the child");
}

TEST_CASE_METHOD(fixture,
                 "timers: a child forked during a stall is not delayed",
                 "[worker]") {
  REQUIRE(configure(path) == timer_status::ok);
  while (acquire("a", 1h) == timer_status::ok) {
  }
  const auto child = ::fork();
  if (child == 0) {
    // Its outbox is empty: the parent keeps the parent's lines.
    const auto status = acquire("b", 1h);
    ::_exit(status == timer_status::ok ? 0 : 1);
  }
  auto status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE_METHOD(fixture, "timers: threads do not tear each other's lines",
                 "[worker]") {
  REQUIRE(configure(path) == timer_status::ok);
  const auto lost_before = lost_timer_count();
  constexpr int thread_max = 8;
  constexpr int pair_count = 2'000;
  auto threads = std::vector<std::thread>{};
  for (int i = 0; i < thread_max; ++i)
    threads.emplace_back([i] {
      // The thread's own lines keep their order, by either path.
      for (int j = 0; j < pair_count; ++j)
        const auto guard
          = expires(1h, std::to_string(i) + "." + std::to_string(j));
    });
  auto next = std::map<std::string, int>{};
  auto count = 0;
  auto misplaced_count = 0;
  REQUIRE(soon([&] {
    for (const auto& x : read()) {
      const auto dot = x.scope.find('.');
      auto& expected = next[x.scope.substr(0, dot)];
      const auto number
        = 2 * std::stoi(x.scope.substr(dot + 1)) + (x.is_release ? 1 : 0);
      misplaced_count += number < expected;
      expected = number + 1;
      ++count;
    }
    const auto lost = lost_timer_count() - lost_before;
    return count + static_cast<int>(lost) == 2 * thread_max * pair_count;
  }));
  for (auto& x : threads)
    x.join();
  CHECK(misplaced_count == 0);
}

TEST_CASE_METHOD(fixture, "timers: a program in C has timers, too",
                 "[worker]") {
  CHECK(output_of("TORCHELASTIC_TIMER_FILE=" + path + " " + timers_child)
        == "acquire 0\nalive 0\nrelease 0\nnull -2 -2 -2 -2\nlost 0\n");
  const auto found = read();
  REQUIRE(found.size() == 3);
  CHECK(found[0].scope == "from C");
  CHECK(found[0].signal == SIGKILL);
  CHECK(found[0].pid != ::getpid());
  CHECK(found[1].scope == "step");
  CHECK(found[1].expiration < found[0].expiration);
  CHECK(found[2].scope == "from C");
  CHECK(found[2].is_release);
}

TEST_CASE_METHOD(fixture, "timers: a program in C may choose its server",
                 "[worker]") {
  const auto child
    = std::string{"env -u TORCHELASTIC_TIMER_FILE "} + timers_child + " ";
  CHECK(
    output_of(child + path + " 15").starts_with("configure 0\nacquire 0\n"));
  CHECK(read().at(0).signal == 15);
  CHECK(
    output_of(child + path + " 65").starts_with("configure -2\nacquire 1\n"));
  CHECK(output_of(child + folder).starts_with("configure -2\nacquire 1\n"));
  CHECK(output_of(child + folder + "/none").starts_with("configure 1\n"));
  CHECK(read().empty());
}

TEST_CASE_METHOD(fixture, "timers: a program without a launcher runs the same",
                 "[worker]") {
  constexpr auto nothing
    = "acquire 1\nalive 1\nrelease 1\nnull -2 -2 -2 -2\nlost 0\n";
  CHECK(output_of(std::string{"env -u TORCHELASTIC_TIMER_FILE "} + timers_child)
        == nothing);
  CHECK(output_of(std::string{"TORCHELASTIC_TIMER_FILE= "} + timers_child)
        == nothing);
  CHECK(output_of("TORCHELASTIC_TIMER_FILE=" + folder + "/none " + timers_child)
        == nothing);
}

} // namespace actorrun::test::timers_server_test
