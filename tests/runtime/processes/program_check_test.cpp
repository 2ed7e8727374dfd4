#include "runtime/processes/program.hpp"
#include "tests/runtime/script_folder.hpp"
#include "tests/support/catch.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <unistd.h>

namespace actorrun::test::program_check_test {

using namespace actorrun::detail;
using actorrun::detail::script_test::folder;
namespace fs = std::filesystem;

namespace {

std::string subject(const std::string& path, int error) {
  return subject_of("name", path, error);
}

} // namespace

TEST_CASE("program check: a file must be regular and executable", "[runtime]") {
  const auto here = folder{};
  CHECK(check_executable(here.file("good", "", 0755)) == 0);
  CHECK(check_executable(here.file("plain", "", 0644)) == EACCES);
  CHECK(check_executable(here.path) == EACCES);
  CHECK(check_executable(here.path / "missing") == ENOENT);
  CHECK(check_executable(here.path / "good" / "x") == ENOTDIR);
}

TEST_CASE("program check: a faulty program is the subject itself",
          "[runtime]") {
  const auto here = folder{};
  CHECK(subject(here.path / "missing", ENOENT) == "name");
  CHECK(subject("", ENOENT) == "name");
  CHECK(subject(here.file("plain", "#!/no/sh\n", 0644), EACCES) == "name");
  CHECK(subject(here.path, EACCES) == "name");
  CHECK(subject(here.file("text", "echo", 0755), ENOEXEC) == "name");
  CHECK(subject(here.file("none", "#!\n", 0755), ENOEXEC) == "name");
}

TEST_CASE("program check: a script's interpreter can be the subject",
          "[runtime]") {
  const auto here = folder{};
  const auto missing = here.file("missing", "#! \t/no/sh -e\necho", 0755);
  CHECK(subject(missing, ENOENT) == "name (its interpreter /no/sh)");
  const auto sh = here.file("sh", "", 0644);
  const auto plain = here.file("plain", "#!" + sh, 0755);
  CHECK(subject(plain, EACCES) == "name (its interpreter " + sh + ")");
  const auto directory = here.file("dir", "#!/tmp\n", 0755);
  CHECK(subject(directory, EACCES) == "name (its interpreter /tmp)");
  const auto good = here.file("good", "#!/bin/sh\n", 0755);
  CHECK(subject(good, ENOENT) == "name");
  CHECK(subject(missing, ENOMEM) == "name"); // Another reason.
}

TEST_CASE("program check: the interpreter of an interpreter counts",
          "[runtime]") {
  const auto here = folder{};
  const auto inner = here.file("inner", "#!/no/sh\n", 0755);
  const auto outer = here.file("outer", "#!" + inner + "\n", 0755);
  CHECK(subject(outer, ENOENT) == "name (its interpreter /no/sh)");
  const auto self = (here.path / "self").string();
  here.file("self", "#!" + self + "\n", 0755);
  CHECK(subject(self, ELOOP) == "name (its interpreter " + self + ")");
}

TEST_CASE("program check: a carriage return is made visible", "[runtime]") {
  const auto here = folder{};
  const auto dos = here.file("dos", "#!/bin/sh\r\necho\r\n", 0755);
  CHECK(subject(dos, ENOENT) == "name (its interpreter /bin/sh\\x0d)");
  CHECK(subject_of("a\nb\x7f\xc3\xa4", "", ENOENT) == "a\\x0ab\\x7f\xc3\xa4");
}

TEST_CASE("program check: of a first line it reads as much as the kernel",
          "[runtime]") {
  const auto here = folder{};
  const auto line = "#!/" + std::string(500, 'x');
  const auto expected = "name (its interpreter " + line.substr(2, 254) + ")";
  CHECK(subject(here.file("long", line, 0755), ENOENT) == expected);
}

TEST_CASE("program check: a binary's loader can be the subject", "[runtime]") {
  const auto here = folder{};
  auto file = std::ifstream{"/bin/sh", std::ios::binary};
  auto text = std::string{std::istreambuf_iterator<char>{file}, {}};
  const auto at = text.find("/ld-linux");
  REQUIRE(at != std::string::npos);
  text.replace(at, 4, "/no-");
  const auto foreign = here.file("foreign", text, 0755);
  const auto told = subject(foreign, ENOENT);
  CHECK(told.starts_with("name (its interpreter /lib"));
  CHECK(told.find("/no-") != std::string::npos);
  CHECK(told.find('\0') == std::string::npos);
  CHECK(subject("/proc/self/exe", ENOENT) == "name");
  // A damaged binary is treated as any file.
  CHECK(subject(here.file("cut", text.substr(0, 70), 0755), ENOENT) == "name");
  text.replace(32, 8, "\xff\xff\xff\xff\xff\xff\xff\x7f"); // e_phoff
  CHECK(subject(here.file("far", text, 0755), ENOENT) == "name");
}

} // namespace actorrun::test::program_check_test
