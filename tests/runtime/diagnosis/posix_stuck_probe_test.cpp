// Inspects real processes that hang.
#include "runtime/diagnosis/posix_stuck_probe.hpp"
#include "runtime/diagnosis/proc_inspector.hpp"
#include "runtime/diagnosis/py_spy.hpp"
#include "tests/runtime/deadline.hpp"
#include "tests/runtime/script_folder.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/sanitizer.hpp"
#include "tests/support/skip.hpp"

#include <csignal>
#include <fstream>
#include <future>
#include <iterator>
#include <string>
#include <vector>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace actorrun::test::posix_stuck_probe_test {

using namespace actorrun::detail;
using namespace actorrun::detail::test_deadline;
using namespace std::chrono_literals;
using script_test::folder;

namespace {

/// A child process that hangs; it ends with the test.
class hanging {
public:
  template <class F>
  explicit hanging(F function) : pid_(::fork()) {
    if (pid_ != 0)
      return;
    function();
    ::_exit(0);
  }

  ~hanging() {
    ::kill(-pid_, SIGKILL); // If it has a group of its own.
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  hanging(const hanging&) = delete;
  hanging& operator=(const hanging&) = delete;

  pid_t pid() const { return pid_; }

  /// Waits until it has reached its final state.
  bool is_in(char state) const {
    return soon([&] { return see_process(pid_).stat.state == state; });
  }

private:
  pid_t pid_;
};

void pause_for_ever() {
  for (;;)
    ::pause();
}

void spin() {
  volatile auto i = 0U;
  for (;;)
    i = i + 1;
}

/// The parent of a vfork sleeps in state D until its child is done.
void wait_in_vfork() {
  ::setpgid(0, 0);
  if (::vfork() == 0)
    ::pause();
}

/// The pipe is never written.
void read_for_ever() {
  int ends[2];
  char place = 0;
  if (::pipe(ends) == 0 && ::read(ends[0], &place, 1) < 0)
    ::_exit(1);
}

ports::probed_worker worker(uint32_t rank, const hanging& x,
                            std::string error_file = {}) {
  return {.local_rank = rank,
          .global_rank = 4 + rank,
          .pid = x.pid(),
          .error_file = std::move(error_file)};
}

std::string look(posix_stuck_probe& uut,
                 std::vector<ports::probed_worker> workers, uint32_t overdue,
                 std::chrono::milliseconds limit = 400ms) {
  auto answer = std::promise<std::string>{};
  uut.look(std::move(workers), overdue, limit,
           [&](std::string x) { answer.set_value(std::move(x)); });
  auto future = answer.get_future();
  REQUIRE(future.wait_for(timeout) == std::future_status::ready);
  return future.get();
}

/// Whether `check` holds in a process that may start neither threads nor processes.
template <class F>
bool holds_without_threads(F check) {
  const auto pid = ::fork();
  if (pid == 0) {
    const auto none = rlimit{0, 0};
    constexpr uid_t unprivileged = 65'534; // For root there is no limit.
    const auto is_ready
      = ::setrlimit(RLIMIT_NPROC, &none) == 0
        && (::geteuid() != 0
            || ::setresuid(unprivileged, unprivileged, unprivileged) == 0);
    ::_exit(is_ready && check() ? 0 : 1);
  }
  auto status = -1;
  ::waitpid(pid, &status, 0);
  return status == 0;
}

std::string content_of(const std::string& path) {
  auto file = std::ifstream{path};
  return {std::istreambuf_iterator<char>{file}, {}};
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// The output of a py-spy that has found Python.
constexpr auto answering = R"x(#!/bin/sh
echo "Process $3: python train.py"
echo
echo "Thread $3 (active): \"MainThread\""
echo "    train_step (train.py:41)"
)x";

} // namespace

// -- one process --------------------------------------------------------------

TEST_CASE(
  "proc_inspector: running, waiting and stopped processes are distinguished",
  "[runtime]") {
  const auto spinning = hanging{spin};
  const auto stopped = hanging{pause_for_ever};
  const auto reading = hanging{read_for_ever};
  ::kill(stopped.pid(), SIGSTOP);
  REQUIRE(spinning.is_in('R'));
  REQUIRE(stopped.is_in('T'));
  REQUIRE(reading.is_in('S'));
  CHECK(core::place_of(see_process(spinning.pid())) == "running");
  CHECK(core::place_of(see_process(stopped.pid())) == "stopped (SIGSTOP)");
  const auto place = core::place_of(see_process(reading.pid()));
  // The kernel's function, or where that is hidden the system call.
  CHECK((contains(place, "pipe") || contains(place, "read")));
}

TEST_CASE("proc_inspector: uninterruptible processes are recognised",
          "[runtime]") {
  if (actorrun::test::has_thread_sanitizer)
    return actorrun::test::skip("no tsan", "it makes fork of vfork");
  const auto x = hanging{wait_in_vfork};
  REQUIRE(x.is_in('D'));
  CHECK(
    core::place_of(see_process(x.pid())).starts_with("uninterruptible in "));
}

TEST_CASE("proc_inspector: a process that is gone has no place", "[runtime]") {
  auto pid = pid_t{0};
  {
    const auto x = hanging{pause_for_ever};
    pid = x.pid();
  }
  CHECK(see_process(pid).stat == core::process_stat{});
  CHECK(contains(describe_process(pid, core::time_point::max()), "unknown"));
}

TEST_CASE(
  "proc_inspector: the first thread is described even after a long time",
  "[runtime]") {
  const auto x = hanging{pause_for_ever};
  REQUIRE(x.is_in('S'));
  const auto text = describe_process(x.pid(), core::time_point{});
  CHECK(contains(text, "thread " + std::to_string(x.pid())));
  CHECK(contains(text, "Threads:"));
}

TEST_CASE("proc_inspector: system calls have names", "[runtime]") {
  CHECK(system_call_name(-1) == "syscall -1");
  CHECK(system_call_name(100'000) == "syscall 100000");
}

// -- several ------------------------------------------------------------------

TEST_CASE("posix_stuck_probe: the odd one out is named", "[runtime]") {
  const auto a = hanging{pause_for_ever};
  const auto b = hanging{spin};
  const auto c = hanging{pause_for_ever};
  REQUIRE(a.is_in('S'));
  REQUIRE(b.is_in('R'));
  REQUIRE(c.is_in('S'));
  auto uut = posix_stuck_probe{""};
  const auto text = look(uut, {worker(0, a), worker(1, b), worker(2, c)}, 0);
  CHECK(text.starts_with("rank 5 is the odd one out\nranks 4,6 in "));
  CHECK(text.ends_with("\nrank 5 running"));
}

TEST_CASE("posix_stuck_probe: all details are written next to the error file",
          "[runtime]") {
  const auto logs = folder{};
  const auto x = hanging{pause_for_ever};
  REQUIRE(x.is_in('S'));
  const auto error_file = (logs.path / "error.json").string();
  {
    auto uut = posix_stuck_probe{""};
    look(uut, {worker(3, x, error_file)}, 3);
  } // The destructor waits for the file.
  const auto text = content_of(logs.path / "stuck.txt");
  CHECK(text.starts_with("rank 7 in "));
  CHECK(contains(text, "local rank 3, pid " + std::to_string(x.pid())));
  CHECK(contains(text, "thread " + std::to_string(x.pid())));
}

TEST_CASE("posix_stuck_probe: an existing file is not changed", "[runtime]") {
  const auto logs = folder{};
  const auto x = hanging{pause_for_ever};
  const auto path = logs.file("stuck.txt", "mine", 0600);
  {
    auto uut = posix_stuck_probe{""};
    look(uut, {worker(0, x, (logs.path / "error.json").string())}, 0);
  }
  CHECK(content_of(path) == "mine");
}

TEST_CASE(
  "posix_stuck_probe: inspections at almost the same time share a result",
  "[runtime]") {
  const auto tools = folder{};
  const auto count = (tools.path / "count").string();
  tools.file("py-spy", "#!/bin/sh\necho x >> " + count + "\n", 0755);
  const auto a = hanging{pause_for_ever};
  const auto b = hanging{pause_for_ever};
  auto uut = posix_stuck_probe{tools.path.string()};
  const auto workers = std::vector{worker(0, a), worker(1, b)};
  auto answers = std::vector<std::promise<void>>(2);
  for (uint32_t i = 0; i < 2; ++i)
    uut.look(workers, i, 400ms,
             [&answers, i](const std::string&) { answers[i].set_value(); });
  for (auto& x : answers)
    REQUIRE(x.get_future().wait_for(timeout) == std::future_status::ready);
  CHECK(content_of(count) == "x\nx\n"); // One per process, not per inspection.
}

TEST_CASE("posix_stuck_probe: without py-spy an answer takes milliseconds",
          "[runtime]") {
  const auto x = hanging{pause_for_ever};
  auto uut = posix_stuck_probe{""};
  look(uut, {worker(0, x)}, 0); // Now its thread runs.
  auto best = core::duration::max();
  for (auto i = 0; i < 20; ++i) {
    const auto begin = clock_type::now();
    look(uut, {worker(0, x)}, 0);
    best = std::min<core::duration>(best, clock_type::now() - begin);
  }
  CHECK(best < 5ms);
}

TEST_CASE("posix_stuck_probe: a summary gives the place of one process",
          "[runtime]") {
  const auto x = hanging{spin};
  REQUIRE(x.is_in('R'));
  auto uut = posix_stuck_probe{""};
  CHECK(uut.summarize(x.pid()) == "running");
  CHECK(uut.summarize(0).empty());
}

TEST_CASE("posix_stuck_probe: its file has the name of the error file",
          "[runtime]") {
  CHECK(stuck_file_of("/l/2/error.json") == "/l/2/stuck.txt");
  CHECK(stuck_file_of("/l/error_2.json") == "/l/stuck_2.txt");
  CHECK(stuck_file_of("error.json") == "stuck.txt");
  CHECK(stuck_file_of("/l/mine.txt") == "/l/mine.txt.stuck.txt");
}

TEST_CASE("posix_stuck_probe: where the system gives no thread it says so",
          "[runtime]") {
  const auto x = hanging{pause_for_ever};
  const auto workers = std::vector{worker(0, x), worker(1, x)};
  CHECK(holds_without_threads([&] {
    auto uut = posix_stuck_probe{""};
    auto count = 0;
    for (auto i = 0; i < 2; ++i)
      uut.look(workers, 0, 400ms,
               [&](const std::string& text) { count += text.empty() ? 1 : 0; });
    for (auto i = 0; i < 20; ++i)
      uut.see(workers, 400ms, [&](std::vector<core::worker_stack> seen) {
        const auto is_told = seen.size() == 2 && seen[1].global_rank == 5
                             && seen[1].pid == x.pid()
                             && contains(seen[1].trouble, "no thread");
        count += is_told ? 1 : 0;
      });
    return count == 22;
  }));
}

// -- py-spy -------------------------------------------------------------------

TEST_CASE("py_spy: py-spy is found where the shell would", "[runtime]") {
  const auto first = folder{};
  const auto second = folder{};
  first.file("py-spy", "", 0644); // Not to be executed.
  const auto found = second.file("py-spy", "", 0755);
  const auto path = first.path.string() + "::/none:" + second.path.string();
  CHECK(find_py_spy(path) == found);
  CHECK(find_py_spy("").empty());
  CHECK(find_py_spy(first.path.string()).empty());
}

TEST_CASE("py_spy: the summary contains a frame", "[runtime]") {
  const auto tools = folder{};
  tools.file("py-spy", answering, 0755);
  const auto x = hanging{spin};
  REQUIRE(x.is_in('R'));
  auto uut = posix_stuck_probe{tools.path.string()};
  CHECK(look(uut, {worker(0, x)}, 0, 10s)
        == "rank 4 running at train_step (train.py:41)");
}

TEST_CASE("py_spy: a program that hangs is ended in time, with its children",
          "[runtime]") {
  const auto tools = folder{};
  const auto program
    = tools.file("py-spy", "#!/bin/sh\nsleep 1000 & sleep 1000\n", 0755);
  const auto begin = clock_type::now();
  const auto found = python_stacks(program, {1, 2}, begin + 100ms);
  CHECK(clock_type::now() - begin < 5s);
  CHECK(found == std::vector<std::string>{"", ""});
  CHECK(::waitpid(-1, nullptr, WNOHANG) == -1); // None is left.
}

TEST_CASE("py_spy: a program that fails has no result", "[runtime]") {
  const auto tools = folder{};
  const auto program = tools.file(
    "py-spy", "#!/bin/sh\necho \"Thread 1\"\necho '    f (x.py:1)'\nexit 1\n",
    0755);
  CHECK(python_stacks(program, {1}, clock_type::now() + timeout)
        == std::vector<std::string>{""});
  CHECK(python_stacks("/none/py-spy", {1}, clock_type::now() + timeout)
        == std::vector<std::string>{""});
}

TEST_CASE("py_spy: long output is cut, and surplus processes are left out",
          "[runtime]") {
  const auto tools = folder{};
  const auto program = tools.file(
    "py-spy", "#!/bin/sh\nhead -c 70000 /dev/zero | tr '\\0' x\n", 0755);
  const auto pids = std::vector<int64_t>(python_stacks_max + 1, 1);
  const auto found = python_stacks(program, pids, clock_type::now() + timeout);
  REQUIRE(found.size() == python_stacks_max + 1);
  CHECK(found[0].size() == python_stack_size_max);
  CHECK(found[python_stacks_max - 1].size() == python_stack_size_max);
  CHECK(found[python_stacks_max].empty());
}

} // namespace actorrun::test::posix_stuck_probe_test
