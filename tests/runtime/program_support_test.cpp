// Lines for a reader of their own, and files that programs around a launcher leave.
#include "runtime/program_support.hpp"
#include "tests/runtime/folders.hpp"
#include "tests/runtime/logs/console_fixture.hpp"
#include "tests/support/catch.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

namespace actorrun::test::program_support_test {

using namespace actorrun::detail;
using namespace actorrun::detail::console_test;
using namespace std::chrono_literals;

namespace {

namespace fs = std::filesystem;

ends make_connection() {
  int fds[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
  return {unique_fd{fds[0]}, unique_fd{fds[1]}};
}

/// Of a size that fills a mebibyte soon.
const auto long_line = line_of(0, 16 * 1024);

std::string content_of(const std::string& path) {
  auto out = std::ostringstream{};
  out << std::ifstream{path}.rdbuf();
  return out.str();
}

} // namespace

TEST_CASE("line_output: its reader gets all lines, and then the end",
          "[runtime]") {
  for (const auto is_pipe : {true, false}) {
    auto x = is_pipe ? make_pipe() : make_connection();
    const auto number = x.writing.get();
    auto uut = open_line_output(x.writing.release());
    CHECK(::fcntl(number, F_GETFD) < 0); // No worker can inherit it.
    uut->add("a\n");
    uut->add("b\nc\n");
    CHECK(uut->finish(timeout));
    CHECK(uut->dropped_count() == 0);
    CHECK(read_text(x.reading.get(), 6) == "a\nb\nc\n");
    uut.reset();
    CHECK(read_text(x.reading.get(), 1) == ""); // The end.
  }
}

TEST_CASE("line_output: without a reader that reads, lines are dropped and"
          " counted, and no call waits",
          "[runtime]") {
  auto x = make_pipe();
  const auto uut = open_line_output(x.writing.release());
  auto count = size_t{0};
  while (uut->dropped_count() == 0 && count < 1'000) {
    uut->add(long_line);
    ++count;
  }
  CHECK(uut->dropped_count() == 1);
  CHECK(count * long_line.size() >= 1024 * 1024);
  CHECK_FALSE(uut->finish(1ms));
  // One that reads again gets all but what was dropped, in whole lines.
  const auto size = (count - 1) * long_line.size();
  CHECK(read_text(x.reading.get(), size).size() == size);
  CHECK(uut->finish(timeout));
}

TEST_CASE("line_output: nothing waits for a reader that is gone", "[runtime]") {
  auto x = make_pipe();
  const auto uut = open_line_output(x.writing.release());
  x.reading.reset();
  for (auto i = 0; i < 100; ++i)
    uut->add(long_line);
  CHECK(uut->finish(timeout));
  CHECK(uut->dropped_count() == 0);
}

TEST_CASE("own file: it is replaced as a whole", "[runtime]") {
  const auto place = test_folders::folder{};
  const auto path = place / "x";
  REQUIRE(write_own_file(path, "first, and long"));
  const auto old = std::ifstream{path};
  REQUIRE(write_own_file(path, "second"));
  CHECK(content_of(path) == "second");
  auto kept = std::ostringstream{};
  kept << old.rdbuf(); // Who reads the old one still has it.
  CHECK(kept.str() == "first, and long");
  struct stat facts {};
  REQUIRE(::stat(path.c_str(), &facts) == 0);
  CHECK((facts.st_mode & 0777) == 0600);
  CHECK(std::distance(fs::directory_iterator{place.path()},
                      fs::directory_iterator{})
        == 1);
}

TEST_CASE(
  "own file: without room for it nothing is left, and the old one stays",
  "[runtime]") {
  const auto place = test_folders::folder{};
  const auto path = place / "x";
  fs::create_directory(path); // It cannot be replaced by a file.
  const auto done = write_own_file(path, "text");
  REQUIRE_FALSE(done);
  CHECK(done.error().code == errc::system_failure);
  CHECK(fs::is_directory(path));
  CHECK(std::distance(fs::directory_iterator{place.path()},
                      fs::directory_iterator{})
        == 1);
  CHECK_FALSE(write_own_file(place / "no/x", "text"));
}

} // namespace actorrun::test::program_support_test
