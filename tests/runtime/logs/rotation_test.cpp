#include "runtime/logs/rotation.hpp"
#include "runtime/os/unique_fd.hpp"
#include "tests/runtime/deadline.hpp"
#include "tests/runtime/folders.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/skip.hpp"

#include <csignal>
#include <fstream>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace actorrun::test::rotation_test {

using namespace actorrun::detail;
using namespace actorrun::detail::test_folders;

namespace {

constexpr auto block = size_t{4096};

// Text in which every position can be distinguished.
std::string numbers(size_t size) {
  auto text = std::string{};
  for (size_t i = 0; text.size() < size; ++i)
    text += std::to_string(i) + "\n";
  return text.substr(0, size);
}

struct log_under_test {
  std::string path;
  unique_fd fd{
    ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600)};
  rotating_file file{.fd = fd.get(), .path = path};

  void write(const std::string& text) const {
    REQUIRE(::write(fd.get(), text.data(), text.size())
            == static_cast<ssize_t>(text.size()));
  }

  std::string part(int number) const {
    return content_of(path + "." + std::to_string(number));
  }

  bool has_part(int number) const {
    return std::filesystem::exists(path + "." + std::to_string(number));
  }

  uint64_t rotate(uint64_t limit, uint32_t keep) {
    const auto shift = detail::rotate(file, limit, keep);
    REQUIRE(shift);
    return *shift;
  }
};

// True if the temporary folder can collapse files, as most tests here need.
bool can_collapse(const folder& here) {
  if (probe_rotation(here.path()) == rotation_means::collapse)
    return true;
  actorrun::test::skip("collapse",
                       "the file system of temporary files cannot collapse");
  return false;
}

} // namespace

TEST_CASE("log rotation: whole blocks are moved, the rest is kept",
          "[runtime]") {
  const auto here = folder{};
  if (!can_collapse(here))
    return;
  auto uut = log_under_test{here / "log"};
  const auto text = numbers(3 * block + 100);
  uut.write(text);
  CHECK(uut.rotate(2 * block + 1, 3) == 2 * block);
  CHECK(uut.part(1) == text.substr(0, 2 * block));
  CHECK(content_of(uut.path) == text.substr(2 * block));
  CHECK(!uut.has_part(2));
  CHECK(!std::filesystem::exists(uut.path + ".rotating"));
}

TEST_CASE("log rotation: less than a block is not moved", "[runtime]") {
  const auto here = folder{};
  auto uut = log_under_test{here / "log"};
  CHECK(uut.rotate(block, 3) == 0); // The file is empty.
  const auto text = numbers(2 * block);
  uut.write(text);
  CHECK(uut.rotate(0, 3) == 0);
  CHECK(uut.rotate(block - 1, 3) == 0);
  CHECK(!uut.has_part(1));
  CHECK(content_of(uut.path) == text);
}

TEST_CASE("log rotation: the last block is kept", "[runtime]") {
  const auto here = folder{};
  if (!can_collapse(here))
    return;
  auto uut = log_under_test{here / "log"};
  const auto text = numbers(2 * block);
  uut.write(text);
  CHECK(uut.rotate(1'000'000, 3) == block);
  CHECK(uut.part(1) == text.substr(0, block));
  CHECK(content_of(uut.path) == text.substr(block));
}

TEST_CASE("log rotation: the oldest files are removed", "[runtime]") {
  const auto here = folder{};
  if (!can_collapse(here))
    return;
  for (const auto keep : {1U, 3U}) {
    auto uut = log_under_test{here / ("log" + std::to_string(keep))};
    auto text = std::string{};
    for (auto i = 0U; i < 5; ++i) {
      const auto more = numbers(block);
      uut.write(more);
      text += more;
    }
    uut.write("end");
    text += "end";
    for (auto i = 0; i < 5; ++i)
      CHECK(uut.rotate(block, keep) == block);
    auto all = std::string{};
    for (auto i = int(keep); i >= 1; --i)
      all += uut.part(i);
    CHECK(!uut.has_part(int(keep) + 1));
    CHECK(all + content_of(uut.path) == text.substr((5 - keep) * block));
  }
}

TEST_CASE("log rotation: discarded bytes are gone", "[runtime]") {
  const auto here = folder{};
  if (!can_collapse(here))
    return;
  auto uut = log_under_test{here / "log"};
  const auto text = numbers(3 * block + 1);
  uut.write(text);
  CHECK(discard(uut.file, 2 * block) == 2 * block);
  CHECK(content_of(uut.path) == text.substr(2 * block));
  CHECK(!uut.has_part(1));
}

TEST_CASE("log rotation: nothing is lost while others write", "[runtime]") {
  const auto here = folder{};
  if (!can_collapse(here))
    return;
  auto uut = log_under_test{here / "log"};
  constexpr auto line_count = 400'000;
  const auto writer = ::fork();
  if (writer == 0) {
    const auto fd = ::open(uut.path.c_str(), O_WRONLY | O_APPEND);
    for (auto i = 0; i < line_count; ++i) {
      const auto line = std::to_string(i) + "\n";
      if (::write(fd, line.data(), line.size()) != ssize_t(line.size()))
        ::_exit(1);
    }
    ::_exit(0);
  }
  auto status = 0;
  auto count = 0;
  for (auto running = true; running;) {
    running = ::waitpid(writer, &status, WNOHANG) == 0;
    if (uut.rotate(64 * 1024, 1'000) > 0)
      ++count;
  }
  CHECK(status == 0);
  CHECK(count > 10);
  auto all = std::string{};
  for (auto i = count; i >= 1; --i)
    all += uut.part(i);
  all += content_of(uut.path);
  auto expected = std::string{};
  for (auto i = 0; i < line_count; ++i)
    expected += std::to_string(i) + "\n";
  CHECK((all == expected)); // Too long to be shown.
}

TEST_CASE("log rotation: where files cannot be collapsed, holes are made",
          "[runtime]") {
  const auto disk = small_disk{"4m"};
  if (!disk)
    return;
  CHECK(probe_rotation(disk.path()) == rotation_means::punch);
  auto uut = log_under_test{disk / "log"};
  const auto text = numbers(4 * block + 1);
  uut.write(text);
  CHECK(uut.rotate(block, 3) == 0);
  CHECK(uut.rotate(3 * block, 3) == 0);
  CHECK(uut.rotate(3 * block, 3) == 0); // Nothing is left to move.
  CHECK(uut.part(2) == text.substr(0, block));
  CHECK(uut.part(1) == text.substr(block, 2 * block));
  CHECK(!uut.has_part(3));
  CHECK(content_of(uut.path)
        == std::string(3 * block, '\0') + text.substr(3 * block));
  struct stat info {};
  REQUIRE(::stat(uut.path.c_str(), &info) == 0);
  CHECK(info.st_blocks * 512 == 2 * block);
  CHECK(discard(uut.file, 4 * block) == 0);
  REQUIRE(::stat(uut.path.c_str(), &info) == 0);
  CHECK(info.st_blocks * 512 == block);
}

TEST_CASE("log rotation: without room for a copy nothing changes",
          "[runtime]") {
  const auto disk = small_disk{"64k"};
  if (!disk)
    return;
  auto uut = log_under_test{disk / "log"};
  const auto text = numbers(12 * block);
  uut.write(text);
  const auto failed = rotate(uut.file, 8 * block, 3);
  REQUIRE(!failed);
  CHECK(failed.error().code == errc::log_failed);
  CHECK(failed.error().text
        == "cannot rotate the log file " + uut.path
             + ": its copy: No space left on device");
  CHECK(content_of(uut.path) == text);
  CHECK(!uut.has_part(1));
  CHECK(!std::filesystem::exists(uut.path + ".rotating"));
}

TEST_CASE("log rotation: an existing file in the way is left alone",
          "[runtime]") {
  const auto here = folder{};
  auto uut = log_under_test{here / "log"};
  uut.write(numbers(3 * block));
  std::ofstream{uut.path + ".rotating"} << "x";
  const auto failed = rotate(uut.file, block, 3);
  REQUIRE(!failed);
  CHECK(failed.error().code == errc::log_failed);
  CHECK(content_of(uut.path + ".rotating") == "x");
  CHECK(content_of(uut.path) == numbers(3 * block));
}

TEST_CASE("log rotation: a missing folder supports nothing", "[runtime]") {
  CHECK(probe_rotation("/nowhere/at/all") == rotation_means::none);
}

} // namespace actorrun::test::rotation_test
