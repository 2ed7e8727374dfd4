#include "actors/core/timers/lines.hpp"
#include "runtime/os/reactor.hpp"
#include "runtime/timers/timer_fifo.hpp"
#include "tests/runtime/deadline.hpp"
#include "tests/runtime/folders.hpp"
#include "tests/runtime/refused_call.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/skip.hpp"

#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

namespace actorrun::test::timer_fifo_test {

using namespace actorrun::detail;
using test_deadline::soon;

namespace {

namespace fs = std::filesystem;

constexpr auto other_user = uid_t{65'534};

mode_t mode_of(const std::string& path) {
  struct stat info {};
  REQUIRE(::lstat(path.c_str(), &info) == 0);
  return info.st_mode & 07777;
}

std::string line(const std::string& scope, int64_t pid = 1) {
  return R"({"version": 1, "pid": )" + std::to_string(pid)
         + R"(, "scope_id": ")" + scope
         + R"(", "expiration_time": 1.5, "signal": 9})" + "\n";
}

// Writes as a client: it may block, and gives up when the reader is gone.
void write_to(const std::string& path, std::string_view text) {
  const auto fd = unique_fd{::open(path.c_str(), O_WRONLY | O_CLOEXEC)};
  while (!text.empty()) {
    const auto count = ::write(fd.get(), text.data(), text.size());
    if (count <= 0)
      return;
    text.remove_prefix(static_cast<size_t>(count));
  }
}

// Runs `fn` in a process of its own, which may be killed early.
template <class Function>
pid_t fork_writer(Function fn) {
  const auto pid = ::fork();
  REQUIRE(pid >= 0);
  if (pid == 0) {
    fn();
    ::_exit(0);
  }
  return pid;
}

void reap(pid_t pid) {
  CHECK(::waitpid(pid, nullptr, 0) == pid);
}

struct fixture {
  std::unique_ptr<timer_fifo> open(const std::string& at) {
    auto out = timer_fifo::open(loop, at);
    INFO((out ? "" : out.error().text));
    REQUIRE(out);
    return std::move(*out);
  }

  failure why_not(const std::string& at) {
    const auto out = timer_fifo::open(loop, at);
    REQUIRE_FALSE(out);
    return out.error();
  }

  // Reads what is available and counts the requests in it.
  size_t read_requests(timer_fifo& from) {
    auto buffer = std::array<char, 4'096>{};
    auto count = size_t{0};
    auto request = core::timer_request{};
    for (auto size = from.read(buffer); size > 0; size = from.read(buffer)) {
      auto bytes = std::string_view{buffer.data(), size};
      while (lines.next(bytes, request))
        ++count;
    }
    return count;
  }

  // Returns when the reactor has handled all events up to now.
  void run_rounds() {
    for (auto i = 0; i < 3; ++i)
      run_and_wait(loop, [] {});
  }

  test_folders::folder place;
  const std::string path = place / "timers";
  reactor loop;
  core::timer_reader lines;
};

} // namespace

// -- the file -----------------------------------------------------------------

TEST_CASE_METHOD(fixture,
                 "timer_fifo: it is private to the user and removed with "
                 "its owner",
                 "[runtime]") {
  auto uut = open(path);
  CHECK(uut->path() == path);
  CHECK(fs::is_fifo(path));
  CHECK(mode_of(path) == 0600);
  uut.reset();
  CHECK_FALSE(fs::exists(path));
}

TEST_CASE_METHOD(fixture, "timer_fifo: the umask does not change its mode",
                 "[runtime]") {
  for (const auto mask : {mode_t{0}, mode_t{0777}, mode_t{0277}}) {
    const auto before = ::umask(mask);
    auto uut = timer_fifo::open(loop, path);
    ::umask(before);
    REQUIRE(uut);
    CHECK(mode_of(path) == 0600);
  }
}

TEST_CASE_METHOD(fixture, "timer_fifo: one that was left behind is reused",
                 "[runtime]") {
  REQUIRE(::mkfifo(path.c_str(), 0666) == 0);
  REQUIRE(::chmod(path.c_str(), 0666) == 0);
  auto uut = open(path);
  CHECK(mode_of(path) == 0600);
  write_to(path, line("a"));
  CHECK(read_requests(*uut) == 1);
}

TEST_CASE_METHOD(fixture, "timer_fifo: one that has a reader is not reused",
                 "[runtime]") {
  const auto first = open(path);
  const auto why = why_not(path);
  CHECK(why.code == errc::address_in_use);
  CHECK(why.text.find(path) != std::string::npos);
  CHECK(fs::is_fifo(path));
}

TEST_CASE_METHOD(fixture, "timer_fifo: a reader of another program counts, too",
                 "[runtime]") {
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  const auto reader
    = unique_fd{::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)};
  CHECK(why_not(path).code == errc::address_in_use);
}

TEST_CASE_METHOD(fixture,
                 "timer_fifo: other kinds of files are left as they are",
                 "[runtime]") {
  std::ofstream{path} << "text";
  auto why = why_not(path);
  CHECK(why.code == errc::bad_argument);
  CHECK(why.text.find(path + " exists and is not a FIFO") != std::string::npos);
  CHECK(test_folders::content_of(path) == "text");
  fs::remove(path);
  fs::create_directory(path);
  CHECK(why_not(path).code == errc::bad_argument);
  CHECK(fs::is_directory(path));
  fs::remove(path);
  fs::create_symlink(place / "elsewhere", path);
  CHECK(why_not(path).code == errc::bad_argument);
  REQUIRE(::mkfifo((place / "elsewhere").c_str(), 0600) == 0);
  CHECK(why_not(path).code == errc::bad_argument);
  CHECK(fs::is_symlink(path));
}

TEST_CASE_METHOD(fixture, "timer_fifo: another user's FIFO is left alone",
                 "[runtime]") {
  if (::geteuid() != 0) {
    actorrun::test::skip("root", "only root can give a file away");
    return;
  }
  REQUIRE(::mkfifo(path.c_str(), 0666) == 0);
  REQUIRE(::chown(path.c_str(), other_user, other_user) == 0);
  const auto why = why_not(path);
  CHECK(why.code == errc::bad_argument);
  CHECK(why.text.find("belongs to another user") != std::string::npos);
  CHECK(fs::is_fifo(path));
}

TEST_CASE_METHOD(fixture,
                 "timer_fifo: an impossible path is an error with its reason",
                 "[runtime]") {
  for (const auto& bad : {std::string{}, place / "no/such/folder",
                          place / std::string(300, 'x')}) {
    const auto why = why_not(bad);
    CHECK(why.code == errc::bad_argument);
    CHECK(why.text.find("TORCHELASTIC_TIMER_FILE") != std::string::npos);
  }
}

TEST_CASE_METHOD(fixture, "timer_fifo: another file in its place is kept",
                 "[runtime]") {
  auto uut = open(path);
  fs::remove(path);
  std::ofstream{path} << "text";
  uut.reset();
  CHECK(test_folders::content_of(path) == "text");
}

TEST_CASE_METHOD(fixture,
                 "timer_fifo: private ones do not collide, and those of "
                 "dead processes are removed",
                 "[runtime]") {
  const auto before = std::getenv("ACTORRUN_RUN_DIR");
  const auto saved = std::string{before == nullptr ? "" : before};
  ::setenv("ACTORRUN_RUN_DIR", (place / "run").c_str(), 1);
  auto first = timer_fifo::open_private(loop);
  auto second = timer_fifo::open_private(loop);
  if (before == nullptr)
    ::unsetenv("ACTORRUN_RUN_DIR");
  else
    ::setenv("ACTORRUN_RUN_DIR", saved.c_str(), 1);
  REQUIRE(first);
  REQUIRE(second);
  CHECK((*first)->path() != (*second)->path());
  const auto dead = fork_writer([] {});
  reap(dead);
  const auto left = place / "run/" + std::to_string(dead) + ".1.timers";
  REQUIRE(::mkfifo(left.c_str(), 0600) == 0);
  const auto other = place / "run/" + std::to_string(dead) + ".1.else";
  std::ofstream{other} << "text";
  const auto own = (*second)->path();
  first->reset();
  CHECK_FALSE(fs::exists(left));
  CHECK(fs::exists(other));
  CHECK(fs::exists(own));
}

TEST_CASE_METHOD(fixture, "timer_fifo: a file system without locks does, too",
                 "[runtime]") {
  test_refused::with_refused(SYS_flock, ENOLCK, [&] {
    auto uut = open(path);
    write_to(path, line("a"));
    CHECK(read_requests(*uut) == 1);
    CHECK(timer_fifo::open(loop, path).error().code == errc::address_in_use);
  });
}

// -- bytes --------------------------------------------------------------------

TEST_CASE_METHOD(fixture, "timer_fifo: it does not end with its writers",
                 "[runtime]") {
  auto uut = open(path);
  CHECK(read_requests(*uut) == 0);
  for (auto i = 0; i < 3; ++i) {
    write_to(path, line("a"));
    CHECK(uut->size() == line("a").size());
    CHECK(read_requests(*uut) == 1);
    CHECK(uut->size() == 0);
  }
}

TEST_CASE_METHOD(fixture, "timer_fifo: a line may come in pieces",
                 "[runtime]") {
  auto uut = open(path);
  auto count = size_t{0};
  for (const auto c : line("a") + line("b")) {
    write_to(path, {&c, 1});
    count += read_requests(*uut);
  }
  CHECK(count == 2);
}

TEST_CASE_METHOD(fixture,
                 "timer_fifo: a writer that dies within a line costs "
                 "that line",
                 "[runtime]") {
  auto uut = open(path);
  const auto dying = fork_writer([&] {
    write_to(path, line("whole") + line("torn").substr(0, 30));
    ::raise(SIGKILL);
  });
  reap(dying);
  write_to(path, line("next"));
  CHECK(read_requests(*uut) == 2);
  CHECK(lines.counts().malformed == 1);
}

TEST_CASE_METHOD(fixture, "timer_fifo: no request of many writers is lost",
                 "[runtime]") {
  constexpr auto writer_count = 8;
  constexpr auto lines_each = 2'000;
  auto uut = open(path);
  auto writers = std::vector<pid_t>{};
  for (auto i = 0; i < writer_count; ++i)
    writers.push_back(fork_writer([&] {
      for (auto j = 0; j < lines_each; ++j)
        write_to(path, line("scope " + std::to_string(j), i + 1));
    }));
  auto count = size_t{0};
  CHECK(soon([&] {
    count += read_requests(*uut);
    return count == size_t{writer_count} * lines_each;
  }));
  for (const auto x : writers)
    reap(x);
  CHECK(lines.counts().malformed == 0);
}

TEST_CASE_METHOD(fixture,
                 "timer_fifo: it is full when a line has no room, "
                 "however many bytes it holds",
                 "[runtime]") {
  for (const auto size :
       {size_t{1}, size_t{100}, size_t{2'100}, size_t{4'096}}) {
    auto uut = open(path);
    CHECK_FALSE(uut->is_full());
    const auto writer
      = unique_fd{::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC)};
    const auto text = std::string(size, 'x');
    while (::write(writer.get(), text.data(), text.size()) > 0)
      continue;
    CHECK(uut->is_full());
    read_requests(*uut);
    CHECK_FALSE(uut->is_full());
  }
}

TEST_CASE_METHOD(fixture, "timer_fifo: it reports readable data once",
                 "[runtime]") {
  auto uut = open(path);
  auto calls = std::atomic<int>{0};
  uut->call_when_ready([&] { ++calls; });
  uut->call_when_ready([&] { calls += 100; }); // Ignored: one waits already.
  run_rounds(); // Else the data may be there before that call.
  write_to(path, line("a"));
  CHECK(soon([&] { return calls == 1; }));
  write_to(path, line("b"));
  run_rounds();
  CHECK(calls == 1);
  uut->call_when_ready([&] { ++calls; }); // Data is already there.
  CHECK(soon([&] { return calls == 2; }));
}

TEST_CASE_METHOD(fixture, "timer_fifo: it calls back no more after its end",
                 "[runtime]") {
  auto calls = std::atomic<int>{0};
  auto uut = open(path);
  uut->call_when_ready([&] { ++calls; });
  // Another reader, without which no process could write.
  const auto other
    = unique_fd{::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC)};
  uut.reset();
  CHECK(::write(other.get(), "x", 1) == 1);
  run_rounds();
  CHECK(calls == 0);
}

TEST_CASE_METHOD(fixture,
                 "timer_fifo: wall clock and monotonic clock are one "
                 "offset apart",
                 "[runtime]") {
  using namespace std::chrono;
  auto uut = open(path);
  const auto wall = system_clock::now().time_since_epoch();
  const auto off
    = steady_clock::now().time_since_epoch() + uut->wall_offset() - wall;
  CHECK(off < 1s);
  CHECK(off > -1s);
}

} // namespace actorrun::test::timer_fifo_test
