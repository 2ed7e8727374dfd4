// Tests the built-in checks of disks and the clock.
#include "runtime/checks/built_in_checks.hpp"
#include "runtime/checks/check_runner.hpp"
#include "tests/runtime/folders.hpp"
#include "tests/runtime/network/listener_fixture.hpp"
#include "tests/support/catch.hpp"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <sys/resource.h>
#include <sys/timex.h>
#include <unistd.h>

namespace actorrun::test::built_in_checks_test {

using namespace actorrun::detail;
using namespace actorrun::detail::test;

namespace {

namespace fs = std::filesystem;

struct disk_fixture {
  test_folders::folder folder{};
  std::vector<std::string> said{};

  /// What is wrong; empty: nothing.
  std::string check(const std::vector<std::string>& folders) {
    said.clear();
    const auto x
      = check_disk(folders, [this](const auto& line) { said.push_back(line); });
    return x ? "" : x.error().text;
  }
};

} // namespace

TEST_CASE_METHOD(disk_fixture,
                 "disk: each folder is written to and read from, once",
                 "[runtime]") {
  const auto logs = folder / "logs";
  fs::create_directory(logs);
  CHECK(check({logs, logs}).empty());
  REQUIRE(said.size() == 2); // And that for temporary files.
  CHECK(said[1].starts_with(logs + ": 1 MiB is on the disk after "));
  CHECK(said[1].find("GiB free") != std::string::npos);
  CHECK(fs::is_empty(logs));
}

TEST_CASE_METHOD(
  disk_fixture,
  "disk: of a folder that is not there, what it would be made in "
  "is checked",
  "[runtime]") {
  CHECK(check({folder / "a/b/c"}).empty());
  REQUIRE(said.size() == 2);
  CHECK(said[1].starts_with(folder.path() + ": 1 MiB"));
  CHECK_FALSE(fs::exists(folder / "a"));
}

TEST_CASE_METHOD(disk_fixture, "disk: what cannot be written is named",
                 "[runtime]") {
  SECTION("it is no folder") {
    const auto file = folder / "file";
    std::ofstream{file} << "x";
    CHECK(check({file}) == file + ": cannot make a file: Not a directory");
  }
  SECTION("it can only be read") {
    if (::geteuid() == 0)
      return; // Root may write everywhere; the system test has a full disk.
    const auto closed = folder / "closed";
    fs::create_directory(closed);
    fs::permissions(closed, fs::perms::owner_read | fs::perms::owner_exec);
    CHECK(check({closed})
          == closed + ": cannot make a file: Permission denied");
  }
  SECTION("the kernel does not let files grow") {
    auto before = rlimit{};
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
    ::signal(SIGXFSZ, SIG_IGN);
    const auto small = rlimit{4'096, before.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
    const auto found = check({folder.path()});
    ::setrlimit(RLIMIT_FSIZE, &before);
    ::signal(SIGXFSZ, SIG_DFL);
    CHECK(found.find("cannot write a file: File too large")
          != std::string::npos);
  }
  SECTION("nothing is there but a device without files") {
    CHECK(check({"/proc/self"}).starts_with("/proc/self: cannot make a file"));
  }
}

TEST_CASE("clock: what the kernel says is what is found", "[runtime]") {
  auto facts = timex{};
  const auto is_synchronised
    = ::adjtimex(&facts) != TIME_ERROR && (facts.status & STA_UNSYNC) == 0;
  auto said = std::string{};
  const auto x = check_clock([&](const auto& line) { said = line; });
  if (is_synchronised && facts.esterror <= 100'000) {
    CHECK(x);
    CHECK(said.starts_with("the clock is in step, off by "));
  } else {
    REQUIRE_FALSE(x);
    CHECK(said.empty());
  }
}

TEST_CASE("check_runner: a built-in check is run by a program of its own",
          "[runtime]") {
  auto ended = inbox<core::check_ended>{};
  const auto loop = std::make_shared<reactor>();
  const auto uut = make_check_runner(
    loop, {"PATH=/usr/bin:/bin"}, nullptr,
    {.program = {"/bin/sh", "-c", "echo \"$0 $*\" >&2; exit 1"},
     .folders = {"/it's here"}});
  const auto words_of = [&](const std::string& command) {
    uut->run({1, command, std::chrono::minutes{1}},
             [&](core::check_ended x) { ended.put(std::move(x)); });
    const auto x = ended.take();
    REQUIRE(x);
    return x->words;
  };
  CHECK(words_of("disk") == "disk /it's here");
  CHECK(words_of("clock") == "clock");
  CHECK(words_of("echo disk; false") == "disk");
}

} // namespace actorrun::test::built_in_checks_test
