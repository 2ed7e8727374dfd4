#include "cli/options/host_facts.hpp"
#include "runtime/options.hpp"
#include "tests/support/catch.hpp"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <sched.h>
#include <sys/stat.h>

using namespace actorrun;
using namespace actorrun::cli;

namespace {

/// A folder that is removed after the test.
struct scratch_folder {
  std::filesystem::path path;

  scratch_folder() {
    auto name
      = (std::filesystem::temp_directory_path() / "actorrun-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()));
    path = name;
  }

  ~scratch_folder() { std::filesystem::remove_all(path); }

  std::string write(const std::string& content, mode_t mode) const {
    const auto file = (path / "secret").string();
    std::filesystem::remove(file);
    std::ofstream{file} << content;
    REQUIRE(::chmod(file.c_str(), mode) == 0);
    return file;
  }
};

} // namespace

TEST_CASE("host facts: a secret is the file without its line end", "[cli]") {
  const auto folder = scratch_folder{};
  for (const auto* content : {"hush", "hush\n", "hush\r\n"})
    CHECK(*read_secret(folder.write(content, 0600)) == "hush");
  CHECK(*read_secret(folder.write("a\nb\n\n", 0400)) == "a\nb\n");
}

TEST_CASE("host facts: a secret that others can read is refused", "[cli]") {
  const auto folder = scratch_folder{};
  for (const auto mode : {0640, 0604, 0644, 0660}) {
    const auto x = read_secret(folder.write("hush", mode_t(mode)));
    REQUIRE_FALSE(x);
    CHECK(x.error().text.find("chmod 600") != std::string::npos);
    CHECK(x.error().text.find("hush") == std::string::npos);
  }
}

TEST_CASE("host facts: the size of a secret is bounded", "[cli]") {
  const auto folder = scratch_folder{};
  const auto longest = std::string(secret_length_max, 'x');
  CHECK(*read_secret(folder.write(longest + "\r\n", 0600)) == longest);
  CHECK_FALSE(read_secret(folder.write(longest + "x", 0600)));
  CHECK_FALSE(read_secret(folder.write(longest + longest, 0600)));
  CHECK_FALSE(read_secret(folder.write("", 0600)));
  CHECK_FALSE(read_secret(folder.write("\n", 0600)));
}

TEST_CASE(
  "host facts: a secret that cannot be read is an error with its reason",
  "[cli]") {
  const auto folder = scratch_folder{};
  const auto missing = read_secret((folder.path / "nothing").string());
  REQUIRE_FALSE(missing);
  CHECK(missing.error().text.find("No such file") != std::string::npos);
  REQUIRE(::chmod(folder.path.c_str(), 0700) == 0);
  const auto directory = read_secret(folder.path.string());
  REQUIRE_FALSE(directory);
  CHECK(directory.error().text.find("directory") != std::string::npos);
}

TEST_CASE("host facts: this process has variables, CPUs and new ids", "[cli]") {
  const auto world = this_process();
  REQUIRE(::setenv("ACTORRUN_TEST_VARIABLE", "x", 1) == 0);
  CHECK(world.variable("ACTORRUN_TEST_VARIABLE") == "x");
  REQUIRE(::unsetenv("ACTORRUN_TEST_VARIABLE") == 0);
  CHECK_FALSE(world.variable("ACTORRUN_TEST_VARIABLE"));
  const auto id = world.random_id();
  CHECK(id.size() == 36);
  CHECK(id != world.random_id());
}

TEST_CASE("host facts: the CPUs are those that this thread may use", "[cli]") {
  const auto world = this_process();
  cpu_set_t before;
  REQUIRE(::sched_getaffinity(0, sizeof(before), &before) == 0);
  CHECK(world.cpu_count() == uint32_t(CPU_COUNT(&before)));
  cpu_set_t one;
  CPU_ZERO(&one);
  for (size_t i = 0; CPU_COUNT(&one) == 0; ++i)
    if (CPU_ISSET(i, &before))
      CPU_SET(i, &one);
  REQUIRE(::sched_setaffinity(0, sizeof(one), &one) == 0);
  CHECK(world.cpu_count() == 1);
  REQUIRE(::sched_setaffinity(0, sizeof(before), &before) == 0);
}

TEST_CASE("host facts: an ignored signal is recognised", "[cli]") {
  const auto world = this_process();
  const auto before = ::signal(SIGHUP, SIG_DFL);
  CHECK_FALSE(world.is_ignored(SIGHUP));
  ::signal(SIGHUP, SIG_IGN);
  CHECK(world.is_ignored(SIGHUP));
  ::signal(SIGHUP, before);
}
