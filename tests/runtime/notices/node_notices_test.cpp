#include "actors/core/protocol/membership_events.hpp"
#include "runtime/notices/node_notices.hpp"
#include "runtime/os/own_process.hpp"
#include "tests/runtime/deadline.hpp"
#include "tests/runtime/folders.hpp"
#include "tests/support/catch.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <vector>

#include <sys/stat.h>

namespace actorrun::test::node_notices_test {

using namespace actorrun::detail;
using test_deadline::soon;

namespace {

namespace fs = std::filesystem;

struct fixture {
  fixture() {
    uut_options.file = folder / "inner/going";
    fs::create_directory(folder / "inner");
  }

  ~fixture() {
    uut.reset();
    guardian.reset();
  }

  void open() {
    auto opened = node_notices::open(uut_options, {});
    REQUIRE(opened);
    uut = std::move(*opened);
  }

  void start() {
    if (uut->has_command())
      guardian = start_warden(loop, [] {});
    const auto started
      = uut->start(loop, own_environment(), guardian, [this](std::string x) {
          const auto lock = std::lock_guard{mutex};
          words.push_back(std::move(x));
        });
    REQUIRE(started);
  }

  bool has(const std::vector<std::string>& expected) {
    const auto lock = std::lock_guard{mutex};
    return words == expected;
  }

  void write(const std::string& text) const {
    std::ofstream{uut_options.file} << text;
  }

  test_folders::folder folder;
  notice_options uut_options;
  std::shared_ptr<reactor> loop = std::make_shared<reactor>();
  std::shared_ptr<warden> guardian;
  std::mutex mutex;
  std::vector<std::string> words;
  std::unique_ptr<node_notices> uut;
};

} // namespace

TEST_CASE("node_notices: nothing is watched if nothing is named", "[runtime]") {
  const auto opened = node_notices::open({}, {});
  REQUIRE(opened);
  CHECK(*opened == nullptr);
}

TEST_CASE_METHOD(fixture, "node_notices: a file that appears is a notice",
                 "[runtime]") {
  open();
  start();
  SECTION("as a whole") {
    write("spot:\x1b[31m terminate\nmore\n");
    CHECK(soon([this] { return has({"spot: terminate"}); }));
  }
  SECTION("without an end of its line") {
    write("spot");
    CHECK(soon([this] { return has({"spot"}); }));
  }
  SECTION("without anything in it") {
    write("");
    CHECK(soon([this] { return has({""}); }));
  }
  SECTION("with a line that has no end") {
    write(std::string(1 << 20, 'x'));
    CHECK(soon([this] {
      const auto lock = std::lock_guard{mutex};
      return words.size() == 1;
    }));
    CHECK(words.front().size() <= core::notice_words_max);
  }
  SECTION("under its name from elsewhere") {
    std::ofstream{folder / "inner/other"} << "moved\n";
    fs::rename(folder / "inner/other", uut_options.file);
    CHECK(soon([this] { return has({"moved"}); }));
  }
  SECTION("also if it is no regular file, and nothing writes to it") {
    REQUIRE(::mkfifo(uut_options.file.c_str(), 0600) == 0);
    CHECK(soon([this] { return has({""}); }));
  }
}

TEST_CASE_METHOD(fixture,
                 "node_notices: what inotify does not tell is found by looking",
                 "[runtime]") {
  open();
  start();
  // It watches the folder that had this name.
  fs::rename(folder / "inner", folder / "old");
  fs::create_directory(folder / "inner");
  write("found\n");
  CHECK(soon([this] { return has({"found"}); }));
}

TEST_CASE_METHOD(fixture, "node_notices: a file that is there has to change",
                 "[runtime]") {
  write("not yet\n");
  open();
  start();
  SECTION("its neighbours do not count") {
    std::ofstream{folder / "inner/other"} << "x\n";
    std::ofstream{folder / "inner/going2"} << "x\n";
  }
  SECTION("it is written at once") {}
  write("now, and so longer\n");
  CHECK(soon([this] { return has({"now, and so longer"}); }));
}

TEST_CASE_METHOD(fixture, "node_notices: without its folder there is no start",
                 "[runtime]") {
  const auto refused = [this](const std::string& path) {
    uut_options.file = path;
    const auto opened = node_notices::open(uut_options, {});
    REQUIRE_FALSE(opened);
    CHECK(opened.error().code == errc::bad_argument);
    return opened.error().text;
  };
  CHECK(refused(folder / "none/going").find("No such file")
        != std::string::npos);
  std::ofstream{folder / "inner/going"} << "a file\n";
  CHECK(refused(folder / "inner/going/going").find("a file in a folder")
        != std::string::npos);
  CHECK(refused(folder / "inner/").find("a file in a folder")
        != std::string::npos);
}

TEST_CASE_METHOD(fixture,
                 "node_notices: a command that ends with 0 is a notice",
                 "[runtime]") {
  uut_options.file.clear();
  uut_options.command
    = "echo first; printf 'spot: \\033[31mterminate'; echo x >&2";
  open();
  start();
  CHECK(soon([this] { return has({"spot: terminate"}); }));
}

TEST_CASE_METHOD(fixture, "node_notices: of much output the last line counts",
                 "[runtime]") {
  uut_options.file.clear();
  uut_options.command = "yes | head -n 200000; seq 100000 >&2; echo last";
  open();
  start();
  CHECK(soon([this] { return has({"last"}); }));
}

TEST_CASE_METHOD(
  fixture,
  "node_notices: a command that fails is started again, and what "
  "it has left is killed",
  "[runtime]") {
  uut_options.file.clear();
  // What it has started holds its output open, and a lock.
  uut_options.command = "cd " + folder.path()
                        + "; mkdir lock || { echo $(cat pid); exit 0; };"
                          " sleep 1000 & echo $! > pid; exit 3";
  open();
  start();
  auto pid = pid_t{0};
  REQUIRE(soon([&] {
    const auto lock = std::lock_guard{mutex};
    return words.size() == 1 && (pid = std::stoi(words.front())) > 0;
  }));
  CHECK(soon([&] { return ::kill(pid, 0) != 0; }));
}

TEST_CASE_METHOD(fixture, "node_notices: a command goes with its owner",
                 "[runtime]") {
  uut_options.file.clear();
  uut_options.command = "cd " + folder.path()
                        + "; trap '' TERM; sleep 1000 & echo $$ $! > pids~;"
                          " mv pids~ pids; wait";
  open();
  start();
  auto leader = pid_t{0};
  auto child = pid_t{0};
  REQUIRE(soon(
    [&] { return bool(std::ifstream{folder / "pids"} >> leader >> child); }));
  uut.reset();
  CHECK(::kill(leader, 0) != 0);
  CHECK(soon([&] { return ::kill(child, 0) != 0; }));
}

} // namespace actorrun::test::node_notices_test
