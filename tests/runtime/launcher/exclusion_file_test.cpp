// Tests the file of excluded hosts.
#include "runtime/launcher/exclusion_file.hpp"
#include "tests/runtime/folders.hpp"
#include "tests/support/catch.hpp"

#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace actorrun::test::exclusion_file_test {

using namespace actorrun::detail;

namespace {

namespace fs = std::filesystem;

struct exclusion_file_fixture {
  test_folders::folder folder{};
  std::string path = folder / "excluded";
  std::mutex mutex{};
  std::string warnings{};

  actorrun::log lines() {
    return actorrun::log{[this](log_level, std::string_view text) {
      const auto guard = std::lock_guard{mutex};
      warnings += std::string{text} + "\n";
    }};
  }

  void write(const std::string& text) const { std::ofstream{path} << text; }

  std::string content() const {
    auto out = std::stringstream{};
    out << std::ifstream{path}.rdbuf();
    return out.str();
  }

  /// The names of the hosts, in order.
  std::string hosts() const {
    const auto all = read_exclusion_file(path);
    REQUIRE(all);
    auto out = std::string{};
    for (const auto& x : *all)
      out += (out.empty() ? "" : " ") + x.host;
    return out;
  }

  void add(const std::string& host) {
    exclusion_file{path, lines()}.add({host, "bad disk", "alice", {}});
  }

  void remove(const std::string& host) {
    exclusion_file{path, lines()}.remove(host);
  }
};

} // namespace

TEST_CASE_METHOD(exclusion_file_fixture,
                 "exclusion_file: hosts come and go, and other lines stay",
                 "[runtime]") {
  CHECK(hosts().empty()); // There is no file.
  remove("n1");
  CHECK_FALSE(fs::exists(path));
  add("n1");
  CHECK(hosts() == "n1");
  CHECK(content().starts_with("n1 20"));
  CHECK(content().ends_with("Z alice: bad disk\n"));
  write("# by hand\nn0 2026-11-30T04:10:11Z\n" + content());
  add("n2");
  add("n1");
  CHECK(hosts() == "n0 n1 n2");
  remove("n1");
  CHECK(hosts() == "n0 n2");
  CHECK(content().starts_with("# by hand\nn0 "));
  CHECK(warnings.empty());
}

TEST_CASE_METHOD(exclusion_file_fixture,
                 "exclusion_file: what is broken is named, and stays as it is",
                 "[runtime]") {
  write("n0 2026-11-30T04:10:11Z\nn1\n");
  const auto all = read_exclusion_file(path);
  REQUIRE_FALSE(all);
  CHECK(all.error().code == errc::bad_argument);
  CHECK(all.error().text.starts_with("the list of excluded hosts " + path
                                     + ": line 2 has no time"));
  const auto before = content();
  add("n2");
  CHECK(warnings.find("host n2 is not excluded beyond this job") == 0);
  CHECK(content() == before);
  CHECK(read_exclusion_file(folder.path()).error().text.find("is a directory")
        != std::string::npos);
  const auto nowhere = folder / "none/list";
  REQUIRE_FALSE(read_exclusion_file(nowhere));
  CHECK(read_exclusion_file(nowhere).error().text.find("No such file")
        != std::string::npos);
}

TEST_CASE_METHOD(exclusion_file_fixture,
                 "exclusion_file: a link stays one, and so do the permissions",
                 "[runtime]") {
  const auto target = folder / "target";
  std::ofstream{target} << "";
  fs::permissions(target, fs::perms::owner_read | fs::perms::owner_write
                            | fs::perms::group_read);
  fs::create_symlink(target, path);
  add("n1");
  CHECK(fs::is_symlink(path));
  CHECK(hosts() == "n1");
  CHECK(fs::status(target).permissions()
        == (fs::perms::owner_read | fs::perms::owner_write
            | fs::perms::group_read));
}

TEST_CASE_METHOD(exclusion_file_fixture,
                 "exclusion_file: of jobs that write at once no line is lost",
                 "[runtime]") {
  constexpr auto writers = 4;
  constexpr auto each = 8;
  auto threads = std::vector<std::thread>{};
  for (auto i = 0; i < writers; ++i)
    threads.emplace_back([this, i] {
      auto file = exclusion_file{path, lines()};
      for (auto k = 0; k < each; ++k)
        file.add({"n" + std::to_string(i * each + k), "", "", {}});
    });
  for (auto& x : threads)
    x.join();
  CHECK(read_exclusion_file(path)->size() == writers * each);
  CHECK(warnings.empty());
  CHECK(std::distance(fs::directory_iterator{folder.path()}, {}) == 1);
}

TEST_CASE_METHOD(exclusion_file_fixture,
                 "exclusion_file: a file that stays locked costs its change",
                 "[runtime]") {
  write("");
  const auto fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(::flock(fd, LOCK_EX) == 0);
  add("n1");
  ::close(fd);
  CHECK(warnings.find("another program has locked it for 5.0 s")
        != std::string::npos);
  CHECK(hosts().empty());
}

} // namespace actorrun::test::exclusion_file_test
