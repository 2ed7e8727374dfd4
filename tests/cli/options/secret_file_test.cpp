#include "cli/options/secret_file.hpp"
#include "runtime/options.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/skip.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace actorrun::test::secret_file_test {

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

mode_t mode_of(const std::filesystem::path& path) {
  struct stat facts {};
  REQUIRE(::stat(path.c_str(), &facts) == 0);
  return facts.st_mode & 07777;
}

} // namespace

TEST_CASE("secret file: a secret is the file without its line end", "[cli]") {
  const auto folder = scratch_folder{};
  for (const auto* content : {"hush", "hush\n", "hush\r\n"})
    CHECK(*read_secret(folder.write(content, 0600)) == "hush");
  CHECK(*read_secret(folder.write("a\nb\n\n", 0400)) == "a\nb\n");
}

TEST_CASE("secret file: a secret that others can read is refused", "[cli]") {
  const auto folder = scratch_folder{};
  for (const auto mode : {0640, 0604, 0644, 0660}) {
    const auto x = read_secret(folder.write("hush", mode_t(mode)));
    REQUIRE_FALSE(x);
    CHECK(x.error().text.find("chmod 600") != std::string::npos);
    CHECK(x.error().text.find("hush") == std::string::npos);
  }
}

TEST_CASE("secret file: the group may read a file of root's, which is how"
          " containers get secrets",
          "[cli]") {
  if (::geteuid() != 0)
    return test::skip("root", "only root can give a file to another user");
  constexpr auto other = 10'001;
  const auto folder = scratch_folder{};
  REQUIRE(::chmod(folder.path.c_str(), 0755) == 0);
  const auto file = folder.write("hush", 0440);
  REQUIRE(::chown(file.c_str(), 0, other) == 0);
  // Of a child, because a user cannot become root again.
  const auto reads = [&](mode_t mode, uid_t owner) {
    REQUIRE(::chmod(file.c_str(), mode) == 0);
    REQUIRE(::chown(file.c_str(), owner, other) == 0);
    const auto child = ::fork();
    if (child == 0) {
      const auto is_other = ::setresgid(other, other, other) == 0
                            && ::setresuid(other, other, other) == 0;
      const auto secret = read_secret(file);
      ::_exit(is_other ? (secret && *secret == "hush" ? 0 : 1) : 2);
    }
    auto status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  CHECK(reads(0440, 0) == 0);
  CHECK(reads(0444, 0) == 1);
  CHECK(reads(0440, other) == 1);
  CHECK(reads(0400, other) == 0);
}

TEST_CASE("secret file: the size of a secret is bounded", "[cli]") {
  const auto folder = scratch_folder{};
  const auto longest = std::string(secret_length_max, 'x');
  CHECK(*read_secret(folder.write(longest + "\r\n", 0600)) == longest);
  CHECK_FALSE(read_secret(folder.write(longest + "x", 0600)));
  CHECK_FALSE(read_secret(folder.write(longest + longest, 0600)));
  CHECK_FALSE(read_secret(folder.write("", 0600)));
  CHECK_FALSE(read_secret(folder.write("\n", 0600)));
  CHECK_FALSE(read_secret(folder.write("\n\r\n\n", 0600)));
}

TEST_CASE(
  "secret file: a secret that cannot be read is an error with its reason",
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

TEST_CASE("secret file: only where there may be none is none no error",
          "[cli]") {
  const auto folder = scratch_folder{};
  CHECK(*read_secret_if_any("") == "");
  CHECK(*read_secret_if_any((folder.path / "nothing").string()) == "");
  CHECK(*read_secret_if_any((folder.path / "no" / "thing").string()) == "");
  CHECK(*read_secret_if_any(folder.write("hush", 0600)) == "hush");
  CHECK_FALSE(read_secret_if_any(folder.write("hush", 0644)));
  CHECK_FALSE(read_secret_if_any(folder.write("", 0600)));
}

TEST_CASE("secret file: a user has one place for it", "[cli]") {
  const auto path = [](const std::map<std::string, std::string>& environment) {
    return own_secret_path(
      [&](const std::string& name) -> std::optional<std::string> {
        const auto i = environment.find(name);
        return i == environment.end() ? std::nullopt : std::optional{i->second};
      });
  };
  CHECK(path({{"HOME", "/h"}}) == "/h/.config/actorrun/secret");
  CHECK(path({{"HOME", "/h"}, {"XDG_CONFIG_HOME", "/c"}})
        == "/c/actorrun/secret");
  CHECK(path({{"HOME", "/h"}, {"XDG_CONFIG_HOME", "c"}})
        == "/h/.config/actorrun/secret");
  CHECK(path({{"HOME", ""}}).empty());
  CHECK(path({}).empty());
}

TEST_CASE("secret file: a new one is random, private and has its folders",
          "[cli]") {
  const auto folder = scratch_folder{};
  const auto home = folder.path / "a" / "b";
  const auto path = (home / "secret").string();
  REQUIRE(create_secret(path, false));
  CHECK(mode_of(path) == 0600);
  CHECK(mode_of(home) == 0700);
  const auto first = *read_secret(path);
  CHECK(first.size() == 64);
  CHECK(first.find_first_not_of("0123456789abcdef") == first.npos);

  SECTION("one that is there stays") {
    const auto again = create_secret(path, false);
    REQUIRE_FALSE(again);
    CHECK(again.error().text.find(path) != std::string::npos);
    CHECK(again.error().text.find("--force") != std::string::npos);
    CHECK(*read_secret(path) == first);
  }
  SECTION("unless it is to be replaced") {
    REQUIRE(create_secret(path, true));
    CHECK(read_secret(path)->size() == 64);
    CHECK(*read_secret(path) != first);
    CHECK(mode_of(path) == 0600);
  }
  // No draft is left.
  auto count = 0;
  for ([[maybe_unused]] const auto& x :
       std::filesystem::directory_iterator{home})
    ++count;
  CHECK(count == 1);
}

TEST_CASE("secret file: a folder that cannot be made is an error", "[cli]") {
  const auto folder = scratch_folder{};
  const auto file = folder.write("x", 0600);
  const auto made = create_secret(file + "/below/secret", false);
  REQUIRE_FALSE(made);
  CHECK(made.error().text.find(file) != std::string::npos);
  CHECK_FALSE(create_secret("/proc/none/secret", false));
}

TEST_CASE("secret file: what another user could change is refused", "[cli]") {
  if (::geteuid() != 0)
    return test::skip("root", "only root can give a file to another user");
  const auto folder = scratch_folder{};
  const auto file = folder.write("hush", 0600);
  REQUIRE(read_secret(file));
  REQUIRE(::chown(file.c_str(), 10'001, 0) == 0);
  const auto x = read_secret(file);
  REQUIRE_FALSE(x);
  CHECK(x.error().text.find("another user (uid 10001)") != std::string::npos);
}

} // namespace actorrun::test::secret_file_test
