#include "runtime/logs/posix_console.hpp"
#include "tests/runtime/folders.hpp"
#include "tests/runtime/logs/console_fixture.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/skip.hpp"

#include <atomic>
#include <fstream>
#include <iterator>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/fsuid.h>
#include <sys/socket.h>
#include <sys/stat.h>

namespace actorrun::test::posix_console_test {

using namespace actorrun::detail;
using namespace actorrun::detail::console_test;
using namespace std::chrono_literals;

namespace {

constexpr auto out = output_stream::out;
constexpr auto err = output_stream::err;

// A pipe that must not be opened a second time, as after su.
std::unique_ptr<posix_console> open_denied(int fd) {
  constexpr auto other_user = uid_t{65534};
  REQUIRE(::fchmod(fd, 0) == 0);
  const auto before = ::setfsuid(other_user);
  auto result = std::make_unique<posix_console>(fd, fd);
  ::setfsuid(static_cast<uid_t>(before));
  REQUIRE(console_target::open(fd).mode() != write_mode::closed);
  return result;
}

} // namespace

TEST_CASE("console: lines go to their stream", "[runtime]") {
  const auto a = make_pipe();
  const auto b = make_pipe();
  auto uut = posix_console{a.writing.get(), b.writing.get()};
  CHECK(uut.offer(out, "one\n"));
  CHECK(uut.offer(err, "two\n"));
  CHECK(uut.offer(out, "three\n"));
  CHECK(read_text(a.reading.get(), 10) == "one\nthree\n");
  CHECK(read_text(b.reading.get(), 4) == "two\n");
  CHECK(uut.is_flushed());
}

TEST_CASE("console: unread lines are kept up to a bound", "[runtime]") {
  const auto pipe = make_pipe();
  const auto is_full
    = [&] { return readable(pipe.reading.get()) == 1024 * 1024; };
  auto uut = posix_console{pipe.writing.get(), pipe.writing.get()};
  auto all = line_of(0, 1024 * 1024 + console_backlog_max);
  CHECK(uut.offer(out, all)); // Any size, while little is waiting.
  REQUIRE(soon(is_full));
  CHECK(!uut.offer(out, "\n"));
  // A page of a pipe becomes free when all of it has been read.
  constexpr auto page = size_t{4096};
  auto text = read_text(pipe.reading.get(), page);
  REQUIRE(soon(is_full));
  const auto line = line_of(1, page - 1);
  // Its thread counts what it wrote after we can see it.
  CHECK(soon([&] { return uut.offer(out, line); }));
  CHECK(uut.offer(out, "\n"));
  CHECK(!uut.offer(out, "\n"));
  all += line + "\n";
  text += read_text(pipe.reading.get(), all.size() - text.size());
  CHECK(text == all);
  CHECK(uut.flush());
}

TEST_CASE("console: a writer that waits is called when there is room",
          "[runtime]") {
  const auto pipe = make_pipe();
  auto uut = posix_console{pipe.writing.get(), pipe.writing.get()};
  const auto taken = fill(uut, out);
  auto calls = std::atomic<int>{0};
  uut.call_when_ready(out, [&] { calls += 100; }); // Replaced.
  uut.call_when_ready(out, [&] { ++calls; });
  uut.call_when_ready(err, [&] { calls += 10; });
  CHECK(calls == 0);
  CHECK(read_text(pipe.reading.get(), taken.size()) == taken);
  CHECK(soon([&] { return calls == 11; }));
  CHECK(uut.offer(out, "x\n"));
  uut.call_when_ready(out, [&] { ++calls; });
  CHECK(soon([&] { return calls == 12; }));
}

TEST_CASE("console: two streams in one file share one order", "[runtime]") {
  const auto pipe = make_pipe();
  auto first = posix_console{pipe.writing.get(), pipe.writing.get()};
  auto second = posix_console{pipe.writing.get(), pipe.writing.get()};
  constexpr auto some = size_t{512 * 1024};
  const auto all = fill(first, out);
  CHECK(read_text(pipe.reading.get(), some) == all.substr(0, some));
  const auto rest = all.substr(some);
  REQUIRE(soon([&] { return second.offer(err, "e\n"); }));
  CHECK(first.offer(out, "o\n"));
  CHECK(second.offer(out, "p\n"));
  CHECK(read_text(pipe.reading.get(), rest.size() + 6) == rest + "e\no\np\n");
}

TEST_CASE("console: threads do not tear each other's lines", "[runtime]") {
  constexpr auto thread_count = 4;
  constexpr auto line_count = size_t{2'000};
  const auto pipe = make_pipe();
  auto uut = posix_console{pipe.writing.get(), pipe.writing.get()};
  auto threads = std::vector<std::thread>{};
  for (auto i = 0; i < thread_count; ++i)
    threads.emplace_back([&, i] {
      for (size_t k = 0; k < line_count; ++k) {
        const auto line
          = std::to_string(i) + std::string(k % 500, char('a' + i)) + "\n";
        while (!uut.offer(i % 2 == 0 ? out : err, line))
          std::this_thread::yield();
      }
    });
  auto size = size_t{0};
  for (size_t k = 0; k < line_count; ++k)
    size += thread_count * (k % 500 + 2);
  auto text = read_text(pipe.reading.get(), size);
  for (auto& x : threads)
    x.join();
  auto counts = std::vector<size_t>(thread_count);
  auto torn = 0;
  for (const auto& line : take_lines(text)) {
    const auto i = static_cast<size_t>(line.at(0) - '0');
    const auto expected = std::string(counts.at(i)++ % 500, char('a' + int(i)));
    torn += line.substr(1) != expected;
  }
  CHECK(text.empty());
  CHECK(std::accumulate(counts.begin(), counts.end(), size_t{0})
        == thread_count * line_count);
  CHECK(torn == 0);
}

TEST_CASE("console: a closed end takes everything", "[runtime]") {
  auto pipe = make_pipe();
  auto uut = posix_console{pipe.writing.get(), pipe.writing.get()};
  CHECK(!uut.is_closed(out));
  SECTION("closed before anything is written") {
    pipe.reading.reset();
  }
  SECTION("closed while much is waiting") {
    fill(uut, out);
    auto called = std::atomic<bool>{false};
    uut.call_when_ready(out, [&] { called = true; });
    pipe.reading.reset();
    CHECK(soon([&] { return called.load(); }));
  }
  for (auto i = 0; i < 1'000; ++i)
    CHECK(uut.offer(err, line_of(0, 10'000)));
  CHECK(uut.is_closed(out));
  CHECK(uut.flush());
}

TEST_CASE("console: descriptors that cannot be written to are closed",
          "[runtime]") {
  const auto pipe = make_pipe();
  auto uut = posix_console{pipe.reading.get(), -1};
  for (const auto stream : {out, err}) {
    CHECK(uut.is_closed(stream));
    CHECK(uut.offer(stream, "x\n"));
    CHECK(!uut.is_terminal(stream));
  }
  CHECK(uut.is_flushed());
}

TEST_CASE("console: a shared descriptor stays blocking", "[runtime]") {
  for (const auto& x : {make_pipe(), make_terminal()}) {
    auto uut = posix_console{x.writing.get(), x.writing.get()};
    fill(uut, out);
    CHECK((::fcntl(x.writing.get(), F_GETFL) & O_NONBLOCK) == 0);
  }
}

TEST_CASE("console: a terminal is written like a pipe", "[runtime]") {
  const auto terminal = make_terminal();
  auto uut = posix_console{terminal.writing.get(), terminal.writing.get()};
  CHECK(uut.is_terminal(out));
  CHECK(uut.offer(out, "one\n"));
  CHECK(read_text(terminal.reading.get(), 5) == "one\r\n");
  const auto taken = fill(uut, err);
  CHECK(!uut.flush(clock_type::now() + 1ms));
  auto expected = std::string{};
  for (const auto c : taken)
    expected += c == '\n' ? std::string{"\r\n"} : std::string{c};
  CHECK(read_text(terminal.reading.get(), expected.size()) == expected);
  CHECK(uut.flush());
}

TEST_CASE("console: it leaves no descriptor open", "[runtime]") {
  auto pipe = make_pipe();
  auto uut
    = std::make_unique<posix_console>(pipe.writing.get(), pipe.writing.get());
  const auto taken = fill(*uut, out);
  pipe.writing.reset();
  uut.reset();
  // Reads to the end of the pipe: lines that were not flushed are lost.
  CHECK(read_text(pipe.reading.get(), taken.size()).size() < taken.size());
}

TEST_CASE("console: a socket is written like a pipe", "[runtime]") {
  auto fds = std::array<int, 2>{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data())
          == 0);
  auto x = ends{unique_fd{fds[0]}, unique_fd{fds[1]}};
  auto uut = posix_console{x.writing.get(), x.writing.get()};
  const auto taken = fill(uut, out);
  CHECK(read_text(x.reading.get(), taken.size()) == taken);
  REQUIRE(uut.flush()); // Its thread may not have counted what we have read.
  x.reading.reset();
  CHECK(uut.offer(out, "x\n"));
  CHECK(soon([&] { return uut.is_closed(out); }));
}

TEST_CASE("console: a pipe that cannot be opened again makes no writer wait",
          "[runtime]") {
  const auto pipe = make_pipe();
  const auto uut = open_denied(pipe.writing.get());
  const auto taken = fill(*uut, out);
  CHECK(taken.size() >= console_backlog_max);
  CHECK(read_text(pipe.reading.get(), taken.size()) == taken);
  CHECK(uut->flush());
}

TEST_CASE("console: a console that hangs in a write can be destroyed",
          "[runtime]") {
  const auto pipe = make_pipe();
  auto uut = open_denied(pipe.writing.get());
  fill(*uut, out);
  uut.reset();
}

TEST_CASE("console: a file shares its offset with others", "[runtime]") {
  auto name = std::string{"/tmp/actorrun-XXXXXX"};
  const auto file = unique_fd{::mkstemp(name.data())};
  REQUIRE(file);
  auto uut = posix_console{file.get(), file.get()};
  CHECK(uut.offer(out, "one\n"));
  REQUIRE(uut.flush());
  CHECK(::write(file.get(), "two\n", 4) == 4);
  CHECK(uut.offer(err, "three\n"));
  REQUIRE(uut.flush());
  auto in = std::ifstream{name};
  CHECK(std::string{std::istreambuf_iterator<char>{in}, {}}
        == "one\ntwo\nthree\n");
  ::unlink(name.c_str());
}

TEST_CASE("console: a device without room loses only the lines", "[runtime]") {
  const auto full = unique_fd{::open("/dev/full", O_WRONLY | O_CLOEXEC)};
  auto uut = posix_console{full.get(), full.get()};
  for (auto i = 0; i < 100; ++i)
    CHECK(uut.offer(out, line_of(0, 10'000)));
  CHECK(!uut.is_closed(out));
  CHECK(uut.is_flushed());
}

TEST_CASE("console: a flush ends in time, and when it is cancelled",
          "[runtime]") {
  const auto pipe = make_pipe();
  auto uut = posix_console{pipe.writing.get(), pipe.writing.get()};
  fill(uut, out);
  CHECK(!uut.flush(clock_type::now() + 5ms));
  auto other = std::thread{[&] { uut.give_up(); }};
  CHECK(!uut.flush());
  CHECK(!uut.flush());
  other.join();
}

TEST_CASE("console: a waiting flush is called when all is written",
          "[runtime]") {
  const auto a = make_pipe();
  const auto b = make_pipe();
  auto uut = posix_console{a.writing.get(), b.writing.get()};
  auto called = std::atomic<int>{0};
  uut.call_when_flushed([&] { ++called; });
  CHECK(called == 1);
  const auto first = fill(uut, out);
  const auto second = fill(uut, err);
  uut.call_when_flushed([&] { ++called; });
  read_text(b.reading.get(), second.size());
  CHECK(called == 1);
  read_text(a.reading.get(), first.size());
  CHECK(soon([&] { return called == 2; }));
}

TEST_CASE("console: final lines are accepted whatever is waiting",
          "[runtime]") {
  const auto pipe = make_pipe();
  auto uut = posix_console{pipe.writing.get(), pipe.writing.get()};
  const auto taken = fill(uut, out);
  const auto words = line_of(0, console_reserve + 1);
  uut.say(err, words);
  uut.say(err, words);
  CHECK(read_text(pipe.reading.get(), taken.size() + 2 * words.size())
        == taken + words + words);
}

TEST_CASE(
  "console: the launcher's lines have a reserve and are counted beyond it",
  "[runtime]") {
  const auto pipe = make_pipe();
  auto uut = posix_console{pipe.writing.get(), pipe.writing.get()};
  auto expected = fill(uut, out);
  // The reserve is full: nothing is read, so nothing becomes free.
  const auto room = [&] {
    return static_cast<size_t>(::fcntl(pipe.writing.get(), F_GETPIPE_SZ));
  };
  REQUIRE(soon([&] { return readable(pipe.reading.get()) == room(); }));
  expected += fill(uut, out);
  const auto pending = expected.size() - room();
  const auto limit = console_backlog_max + console_reserve;
  const auto last = line_of(1, limit - pending);
  uut.note(last);
  uut.note("lost\n");
  uut.note("lost, too\n");
  expected += last
              + "\xE2\x80\xA6 2 lines of actorrun itself were lost: the console"
                " did not take them\n";
  CHECK(read_text(pipe.reading.get(), expected.size()) == expected);
}

namespace {

/// A file system that can be frozen: writes to it wait, as on a server that is gone.
class frozen_disk {
public:
  frozen_disk() {
    const auto image = folder_ / "image";
    std::ofstream{image};
    is_there_ = ::truncate(image.c_str(), 8 << 20) == 0
                && run("mkfs.ext4 -q " + image)
                && ::mkdir((folder_ / "disk").c_str(), 0700) == 0
                && run("mount -o loop " + image + " " + path());
    if (!is_there_)
      test::skip("loop devices", "no disk can be made that can be frozen");
  }

  ~frozen_disk() {
    if (!is_there_)
      return;
    thaw();
    run("umount -l " + path());
  }

  explicit operator bool() const { return is_there_; }

  std::string path() const { return folder_ / "disk"; }
  void freeze() { REQUIRE(run("fsfreeze -f " + path())); }
  void thaw() { run("fsfreeze -u " + path()); }

private:
  static bool run(const std::string& command) {
    return std::system((command + " >/dev/null 2>&1").c_str()) == 0;
  }

  test_folders::folder folder_;
  bool is_there_ = false;
};

} // namespace

TEST_CASE("console: N5 a file whose disk does not answer holds up no writer",
          "[runtime]") {
  auto disk = frozen_disk{};
  if (!disk)
    return;
  const auto name = disk.path() + "/log";
  const auto file = unique_fd{
    ::open(name.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)};
  REQUIRE(file);
  auto uut = posix_console{file.get(), file.get()};
  CHECK(uut.offer(out, "one\n"));
  REQUIRE(uut.flush());
  disk.freeze();
  const auto begun = std::chrono::steady_clock::now();
  for (auto i = 0; i < 100; ++i) {
    CHECK(uut.offer(out, "more\n"));
    uut.note("note\n");
  }
  CHECK_FALSE(uut.is_closed(err));
  CHECK(std::chrono::steady_clock::now() - begun < 1s);
  CHECK_FALSE(uut.is_flushed());
  disk.thaw();
  CHECK(uut.flush());
  CHECK(test_folders::content_of(name).size() == 4 + 100 * (5 + 5));
}

TEST_CASE("console: the file of a program that ends gets its last lines",
          "[runtime]") {
  const auto folder = test_folders::folder{};
  const auto name = folder / "log";
  const auto file = unique_fd{
    ::open(name.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)};
  for (auto i = 0; i < 100; ++i)
    posix_console{file.get(), file.get()}.note("last words\n");
  CHECK(test_folders::content_of(name).size() == 100 * 11);
}

TEST_CASE("console: a file on a full disk loses only the lines, and says so",
          "[runtime]") {
  auto disk = test_folders::small_disk{"64k"};
  if (!disk)
    return;
  const auto filler = disk / "filler";
  const auto name = disk / "log";
  const auto file = unique_fd{
    ::open(name.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)};
  REQUIRE(file);
  std::ofstream{filler} << std::string(size_t{64} << 10, 'x') << std::flush;
  auto uut = posix_console{file.get(), file.get()};
  CHECK(uut.offer(out, line_of(0, 10'000)));
  REQUIRE(uut.flush());
  CHECK_FALSE(uut.is_closed(out));
  ::unlink(filler.c_str());
  CHECK(uut.offer(out, "more\n"));
  REQUIRE(uut.flush());
  const auto text = test_folders::content_of(name);
  CHECK(text.find("bytes of the console's output were lost: No space left")
        != std::string::npos);
  CHECK(text.ends_with("\nmore\n"));
}

} // namespace actorrun::test::posix_console_test
