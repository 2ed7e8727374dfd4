#include "runtime/logs/inotify_log_files.hpp"
#include "tests/runtime/deadline.hpp"
#include "tests/runtime/folders.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/skip.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <fstream>
#include <future>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace actorrun::test::inotify_log_files_test {

using namespace actorrun::detail;
using namespace actorrun::detail::test_folders;
using namespace actorrun::detail::test_deadline;
using namespace std::chrono_literals;

namespace {

struct fixture {
  folder here;
  reactor loop;
  std::unique_ptr<inotify_log_files> uut
    = std::make_unique<inotify_log_files>(loop);

  ports::log_file_id open(const std::string& name) {
    const auto id = uut->open(here / name);
    REQUIRE(id);
    return *id;
  }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream{here / name, std::ios::app} << text << std::flush;
  }

  std::string read(ports::log_file_id file, uint64_t offset,
                   size_t size = 100) {
    auto text = std::string(size, '\0');
    text.resize(uut->read(file, offset, text));
    return text;
  }

  // Waits until the reactor has run all pending tasks.
  void settle() {
    for (auto i = 0; i < 3; ++i) {
      auto done = std::promise<void>{};
      loop.post([&] { done.set_value(); });
      done.get_future().wait();
    }
  }
};

// While it lives no further descriptor can be opened.
class no_descriptors {
public:
  no_descriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const auto next = ::dup(0);
    ::close(next);
    auto limit = before_;
    limit.rlim_cur = static_cast<rlim_t>(next);
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
  ~no_descriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  no_descriptors(const no_descriptors&) = delete;
  no_descriptors& operator=(const no_descriptors&) = delete;

private:
  rlimit before_{};
};

// Changes a setting of the system, as root may, and restores it at the end.
class system_setting {
public:
  system_setting(std::string path, const std::string& value)
    : path_(std::move(path)), before_(content_of(path_)) {
    std::ofstream{path_} << value;
    changed_ = content_of(path_) == value + "\n";
  }
  ~system_setting() { std::ofstream{path_} << before_; }
  system_setting(const system_setting&) = delete;
  system_setting& operator=(const system_setting&) = delete;
  explicit operator bool() const { return changed_; }

private:
  std::string path_;
  std::string before_;
  bool changed_ = false;
};

} // namespace

TEST_CASE_METHOD(fixture, "log files: bytes are read where they are",
                 "[runtime]") {
  const auto file = open("a");
  CHECK(uut->size(file) == 0);
  CHECK(read(file, 0).empty());
  write("a", std::string{"one\0two\xFF", 8});
  CHECK(uut->size(file) == 8);
  CHECK(read(file, 0) == std::string{"one\0two\xFF", 8});
  CHECK(read(file, 3, 2) == std::string{"\0t", 2});
  CHECK(read(file, 8).empty());
  CHECK(read(file, 9).empty());
}

TEST_CASE_METHOD(fixture, "log files: an existing file is kept", "[runtime]") {
  write("a", "old");
  CHECK(read(open("a"), 0) == "old");
}

TEST_CASE_METHOD(fixture, "log files: a file that cannot be opened is named",
                 "[runtime]") {
  const auto missing = uut->open(here / "no/file");
  REQUIRE(!missing);
  CHECK(missing.error().code == errc::log_failed);
  CHECK(missing.error().text
        == "the log file " + here.path()
             + "/no/file cannot be opened: No such file or directory");
  CHECK(!uut->open(here.path()));
  REQUIRE(::mkfifo((here / "fifo").c_str(), 0600) == 0);
  CHECK(!uut->open(here / "fifo"));
}

TEST_CASE_METHOD(fixture, "log files: growth is reported once", "[runtime]") {
  const auto file = open("a");
  write("a", "before");
  auto calls = std::atomic<int>{0};
  uut->call_when_grown(file, [&] { ++calls; });
  settle();
  CHECK(calls == 0);
  write("a", "x");
  CHECK(soon([&] { return calls == 1; }));
  write("a", "x");
  settle();
  CHECK(calls == 1);
  uut->call_when_grown(file, [&] { calls += 10; });
  settle();
  CHECK(calls == 1);
  write("a", "x");
  CHECK(soon([&] { return calls == 11; }));
}

TEST_CASE_METHOD(fixture, "log files: the newest callback replaces older ones",
                 "[runtime]") {
  const auto file = open("a");
  auto calls = std::atomic<int>{0};
  uut->call_when_grown(file, [&] { calls += 100; });
  uut->call_when_grown(file, [&] { ++calls; });
  write("a", "x");
  CHECK(soon([&] { return calls == 1; }));
}

TEST_CASE_METHOD(fixture, "log files: each file is reported separately",
                 "[runtime]") {
  constexpr auto count = size_t{200};
  auto calls = std::vector<std::atomic<int>>(count);
  for (size_t i = 0; i < count; ++i)
    uut->call_when_grown(open(std::to_string(i)), [&calls, i] { ++calls[i]; });
  for (size_t i = 0; i < count; i += 2)
    write(std::to_string(i), "x");
  for (size_t i = 0; i < count; i += 2)
    CHECK(soon([&] { return calls[i] == 1; }));
  for (size_t i = 1; i < count; i += 2)
    CHECK(calls[i] == 0);
}

TEST_CASE_METHOD(fixture,
                 "log files: a file that is followed twice is reported twice",
                 "[runtime]") {
  const auto first = open("a");
  const auto second = open("a");
  auto calls = std::atomic<int>{0};
  uut->call_when_grown(first, [&] { ++calls; });
  uut->call_when_grown(second, [&] { calls += 10; });
  write("a", "x");
  CHECK(soon([&] { return calls == 11; }));
  uut->call_when_grown(first, [&] { ++calls; });
  uut->call_when_grown(second, [&] { calls += 10; });
  uut->close(first);
  write("a", "x");
  CHECK(soon([&] { return calls == 21; }));
}

TEST_CASE_METHOD(fixture, "log files: a file without a name is still followed",
                 "[runtime]") {
  const auto out = std::make_unique<std::ofstream>(here / "a", std::ios::app);
  const auto file = open("a");
  std::filesystem::remove(here / "a");
  auto calls = std::atomic<int>{0};
  uut->call_when_grown(file, [&] { ++calls; });
  *out << "x" << std::flush;
  CHECK(soon([&] { return calls == 1; }));
  CHECK(read(file, 0) == "x");
}

TEST_CASE_METHOD(fixture, "log files: closed files are not reported",
                 "[runtime]") {
  auto calls = std::atomic<int>{0};
  const auto file = open("a");
  uut->call_when_grown(file, [&] { ++calls; });
  SECTION("one file") {
    uut->close(file);
  }
  SECTION("all files") {
    uut.reset();
  }
  write("a", "x");
  settle();
  CHECK(calls == 0);
}

TEST_CASE_METHOD(fixture, "log files: a file that cannot be watched is polled",
                 "[runtime]") {
  const auto file = open("a");
  auto calls = std::atomic<int>{0};
  {
    const auto denied = no_descriptors{};
    uut->call_when_grown(file, [&] { ++calls; });
  }
  CHECK(soon([&] { return calls == 1; }));
}

TEST_CASE_METHOD(fixture, "log files: lost events report all files",
                 "[runtime]") {
  const auto limit
    = system_setting{"/proc/sys/fs/inotify/max_queued_events", "4"};
  if (!limit) {
    actorrun::test::skip("root",
                         "the system's settings can only be changed by root");
    return;
  }
  auto calls = std::atomic<int>{0};
  for (auto i = 0; i < 20; ++i)
    uut->call_when_grown(open(std::to_string(i)), [&] { ++calls; });
  auto release = std::promise<void>{};
  loop.post([&] { release.get_future().wait(); }); // The events are not read.
  for (auto i = 0; i < 10; ++i)
    write(std::to_string(i), "x");
  release.set_value();
  CHECK(soon([&] { return calls == 20; }));
}

TEST_CASE_METHOD(fixture, "log files: lines are appended whole", "[runtime]") {
  CHECK(uut->append(here / "a", "one\n"));
  CHECK(uut->append(here / "a", "two\n"));
  CHECK(content_of(here / "a") == "one\ntwo\n");
  CHECK(!uut->append(here / "no/file", "x\n"));
}

TEST_CASE_METHOD(fixture,
                 "log files: a line that does not fit is not written at all",
                 "[runtime]") {
  const auto disk = small_disk{"64k"};
  if (!disk)
    return;
  const auto text = std::string(48 * 1024 - 1, 'x') + "\n";
  CHECK(uut->append(disk / "a", text));
  CHECK(!uut->append(disk / "a", text));
  CHECK(content_of(disk / "a") == text);
}

TEST_CASE_METHOD(fixture, "log files: a disk that is nearly full is noticed",
                 "[runtime]") {
  const auto disk = small_disk{"32m"}; // Short means less than 2 MiB, a 16th.
  if (!disk)
    return;
  const auto file = uut->open(disk / "a");
  REQUIRE(file);
  CHECK(!uut->is_short_of_space(*file));
  const auto fill
    = unique_fd{::open((disk / "b").c_str(), O_RDWR | O_CREAT, 0600)};
  const auto leave = [&](off_t size) {
    return ::posix_fallocate(fill.get(), 0, 32 * 1024 * 1024 - size);
  };
  REQUIRE(leave(2 * 1024 * 1024) == 0);
  std::this_thread::sleep_for(free_space_age_max);
  CHECK(!uut->is_short_of_space(*file));
  REQUIRE(leave(2 * 1024 * 1024 - 4096) == 0);
  CHECK(soon([&] { return uut->is_short_of_space(*file); }));
}

} // namespace actorrun::test::inotify_log_files_test
