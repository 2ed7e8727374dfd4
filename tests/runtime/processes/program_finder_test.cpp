#include "runtime/processes/program.hpp"
#include "tests/runtime/script_folder.hpp"
#include "tests/support/catch.hpp"

#include <cerrno>
#include <climits>
#include <filesystem>
#include <string>
#include <vector>

namespace actorrun::test::program_finder_test {

using namespace actorrun::detail;
using actorrun::detail::script_test::folder;
namespace fs = std::filesystem;

using strings = std::vector<std::string>;

TEST_CASE("program finder: programs are found in the child's PATH",
          "[runtime]") {
  const auto first = folder{};
  const auto second = folder{};
  first.file("denied", "", 0644);
  second.file("denied", "", 0755);
  first.file("closed", "", 0644);
  fs::create_directory(first.path / "folder");
  const auto env = strings{"X=PATH=/no", "PATH=/none:" + first.path.string()
                                           + ":" + second.path.string()};
  auto uut = program_finder{};
  CHECK(uut.find("denied", env).path == (second.path / "denied").string());
  CHECK(uut.find("closed", env).error == EACCES);
  CHECK(uut.find("folder", env).error == EACCES);
  CHECK(uut.find("missing", env).error == ENOENT);
  CHECK(uut.find("", env).error == ENOENT);
  CHECK(uut.find("sh", {}).error == 0);
  CHECK(uut.find("sh", {"PATH=/none"}).error == ENOENT);
}

TEST_CASE("program finder: a program with a slash is taken as it is",
          "[runtime]") {
  auto uut = program_finder{};
  CHECK(uut.find("./no/where", {}).path == "./no/where");
  CHECK(uut.find("./no/where", {}).error == 0);
}

TEST_CASE("program finder: an empty part of PATH is the working directory",
          "[runtime]") {
  const auto here = folder{};
  here.file("program", "", 0755);
  const auto old = fs::current_path();
  fs::current_path(here.path);
  auto uut = program_finder{};
  const auto found = uut.find("program", {"PATH=/none:"});
  fs::current_path(old);
  CHECK(found.path == "program");
}

TEST_CASE("program finder: a batch looks a program up once", "[runtime]") {
  const auto here = folder{};
  const auto file = here.file("program", "", 0755);
  const auto env = strings{"PATH=" + here.path.string()};
  auto uut = program_finder{};
  CHECK(uut.find("program", env).path == file);
  fs::remove(file);
  CHECK(uut.find("program", env).path == file);
  CHECK(program_finder{}.find("program", env).error == ENOENT);
}

TEST_CASE("program finder: a name that is too long for a folder is an error",
          "[runtime]") {
  auto uut = program_finder{};
  CHECK(uut.find(std::string(NAME_MAX, 'x'), {}).error == ENOENT);
  CHECK(uut.find(std::string(NAME_MAX + 1, 'x'), {}).error == ENAMETOOLONG);
}

} // namespace actorrun::test::program_finder_test
