// Tests the way of workers' output to the console, over real files.
#include "tests/runtime/logs/log_stream_fixture.hpp"
#include "tests/support/sanitizer.hpp"
#include "tests/support/skip.hpp"

#include <algorithm>
#include <vector>

namespace actorrun::test::log_stream_test {

using namespace actorrun::detail;
using namespace actorrun::detail::log_stream_test;

namespace {

// Lines of one worker as it writes them, and as they are shown.
struct text_of_worker {
  std::string written;
  std::string shown;

  void add(const std::string& line) {
    written += line + "\n";
    shown += "0:" + line + "\n";
  }
};

size_t resident_size() {
  auto in = std::ifstream{"/proc/self/statm"};
  auto pages = size_t{};
  in >> pages >> pages;
  return pages * 4096;
}

} // namespace

TEST_CASE_METHOD(fixture, "log stream: a line is shown when it is written",
                 "[runtime]") {
  out.start();
  follow(1);
  write(0, "one\n");
  CHECK(shown(6) == "0:one\n");
  write(0, "two\nthr");
  CHECK(shown(12) == "0:one\n0:two\n");
  write(0, "ee\n");
  CHECK(shown(20) == "0:one\n0:two\n0:three\n");
}

TEST_CASE_METHOD(fixture, "log stream: any bytes are shown unchanged",
                 "[runtime]") {
  out.start();
  follow(1);
  auto text = text_of_worker{};
  text.add(std::string{"a\0b", 3});
  text.add("\xFF\xFE\xC3\x28");
  text.add("");
  text.add("\x1B[31mred\x1B[m \x07\x0B");
  for (auto i = 0; i < 3; ++i)
    text.add(std::string(1024 * 1024, char('a' + i)));
  text.add("end");
  write(0, text.written);
  CHECK((shown(text.shown.size()) == text.shown)); // Too long to be printed.
}

TEST_CASE_METHOD(fixture, "log stream: a killed worker's last lines are shown",
                 "[runtime]") {
  out.start();
  follow(1);
  const auto worker = fork_worker(0, [](int fd) {
    put(fd, "last\nwords");
    for (;;)
      ::pause();
  });
  CHECK(shown(7) == "0:last\n");
  ::kill(worker, SIGKILL);
  ::waitpid(worker, nullptr, 0);
  drain(0);
  CHECK(shown(15) == "0:last\n0:words\n");
}

TEST_CASE_METHOD(fixture, "log stream: a progress bar is shown at intervals",
                 "[runtime]") {
  constexpr auto state_count = 3'000;
  out.start();
  follow(1);
  const auto worker = fork_worker(0, [](int fd) {
    for (auto i = 1; i <= state_count; ++i) {
      char text[32];
      const auto size = std::snprintf(text, sizeof text, "\rstep %d", i);
      put(fd, {text, size_t(size)});
    }
    put(fd, "\n");
  });
  ::waitpid(worker, nullptr, 0);
  drain(0);
  close();
  REQUIRE(flush());
  const auto last = "0:step " + std::to_string(state_count) + "\n";
  REQUIRE(soon([&] { return out.text().ends_with(last); }));
  const auto text = out.text();
  const auto lines = std::count(text.begin(), text.end(), '\n');
  CHECK(lines >= 1);
  CHECK(lines < 100);
}

TEST_CASE_METHOD(fixture, "log stream: of many workers no line is torn or lost",
                 "[runtime]") {
  constexpr auto worker_count = 8U;
  constexpr auto line_count = 20'000;
  out.start();
  follow(worker_count);
  auto workers = std::vector<pid_t>{};
  for (auto rank = 0U; rank < worker_count; ++rank)
    workers.push_back(fork_worker(rank, [](int fd) {
      char block[4096]; // Lines cross the blocks.
      size_t size = 0;
      for (auto i = 0; i < line_count; ++i) {
        char line[16];
        const auto length = std::snprintf(line, sizeof line, "%d\n", i);
        for (auto k = 0; k < length; ++k) {
          block[size++] = line[k];
          if (size == sizeof block) {
            put(fd, {block, size});
            size = 0;
          }
        }
      }
      put(fd, {block, size});
    }));
  for (const auto x : workers)
    ::waitpid(x, nullptr, 0);
  for (auto rank = 0U; rank < worker_count; ++rank)
    drain(rank);
  close();
  REQUIRE(flush());
  auto expected = size_t{0};
  for (auto i = 0; i < line_count; ++i)
    expected += worker_count * (3 + std::to_string(i).size());
  auto next = std::vector<int>(worker_count);
  auto wrong = 0;
  const auto text = shown(expected);
  CHECK(text.size() == expected);
  for (size_t begin = 0; begin < text.size();) {
    const auto end = std::min(text.find('\n', begin), text.size());
    const auto rank = static_cast<size_t>(text[begin] - '0');
    wrong += rank >= worker_count
             || text.substr(begin + 1, end - begin - 1)
                  != ":" + std::to_string(next[rank]++);
    begin = end + 1;
  }
  CHECK(wrong == 0);
}

TEST_CASE_METHOD(fixture, "log stream: nothing is lost where files are rotated",
                 "[runtime]") {
  constexpr auto line_count = 300'000;
  if (probe_rotation(here.path()) != rotation_means::collapse) {
    actorrun::test::skip("collapse",
                         "the file system of temporary files cannot collapse");
    return;
  }
  options.rotate_size = core::rotate_size_min;
  options.rotate_keep = core::rotate_keep_max;
  out.start();
  follow(1);
  const auto worker = fork_worker(0, [](int fd) {
    for (auto i = 0; i < line_count; ++i) {
      char line[16];
      const auto size = std::snprintf(line, sizeof line, "%d\n", i);
      put(fd, {line, size_t(size)});
    }
  });
  ::waitpid(worker, nullptr, 0);
  drain(0);
  close();
  REQUIRE(flush());
  auto text = text_of_worker{};
  for (auto i = 0; i < line_count; ++i)
    text.add(std::to_string(i));
  CHECK((shown(text.shown.size()) == text.shown));
  auto parts = 0;
  while (std::filesystem::exists(path(0) + "." + std::to_string(parts + 1)))
    ++parts;
  CHECK(parts > 3);
  auto all = std::string{};
  for (auto i = parts; i >= 1; --i)
    all += content_of(path(0) + "." + std::to_string(i));
  CHECK((all + content_of(path(0)) == text.written));
}

TEST_CASE_METHOD(fixture,
                 "log stream: a console that is not read costs nothing",
                 "[runtime]") {
  if (actorrun::test::has_thread_sanitizer)
    return actorrun::test::skip("no tsan", "it takes memory of its own");
  constexpr auto line_count = 400'000;
  auto text = text_of_worker{};
  for (auto i = 0; i < line_count; ++i)
    text.add(std::to_string(i) + std::string(90, '.'));
  follow(1);
  write(0, "first\n");
  drain(0);
  const auto before = resident_size();
  write(0, text.written); // Must not wait.
  drain(0);               // Nor must the death of the worker.
  close();
  CHECK(!flush(std::chrono::milliseconds{100}));
  CHECK(resident_size() - before < 8 * 1024 * 1024);
  out.start();
  CHECK((shown(text.shown.size() + 8) == "0:first\n" + text.shown));
  CHECK(flush());
}

TEST_CASE_METHOD(fixture, "log stream: a console that is closed costs nothing",
                 "[runtime]") {
  follow(2);
  write(0, "first\n");
  REQUIRE(soon([&] { return console_test::readable(pipe.reading.get()) > 0; }));
  pipe.reading.reset();
  for (auto i = 0; i < 100; ++i)
    write(1, std::string(100'000, 'x') + "\n");
  drain(1);
  close();
  CHECK(flush());
  CHECK(std::filesystem::file_size(path(1)) == 100 * 100'001);
}

TEST_CASE_METHOD(fixture,
                 "log stream: a full disk loses bytes but ends no worker",
                 "[runtime]") {
  const auto disk = small_disk{"8m"};
  if (!disk)
    return;
  disk_path = disk.path();
  constexpr auto line_count = 160'000;
  out.start();
  follow(1);
  const auto worker = fork_worker(0, [](int fd) {
    char line[100];
    std::fill(line, line + 99, '.');
    line[99] = '\n';
    for (auto i = 0; i < line_count; ++i) {
      if (!put(fd, {line, sizeof line}))
        ::_exit(1);
      if (i % 100 == 0)
        ::usleep(2'000); // 3 s for twice what the disk holds.
    }
  });
  auto status = -1;
  ::waitpid(worker, &status, 0);
  CHECK(status == 0);
  drain(0);
  close();
  REQUIRE(flush());
  CHECK(shown(line_count * 102).size() == line_count * 102);
}

} // namespace actorrun::test::log_stream_test
