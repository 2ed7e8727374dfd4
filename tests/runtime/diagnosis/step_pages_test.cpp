#include "runtime/diagnosis/step_pages.hpp"
#include "tests/runtime/folders.hpp"
#include "tests/support/catch.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace actorrun::test::step_pages_test {

using namespace actorrun::detail;
using namespace std::chrono_literals;

namespace {

namespace fs = std::filesystem;

struct step_pages_fixture {
  step_pages_fixture() {
    if (const auto* x = std::getenv("ACTORRUN_RUN_DIR"))
      before = x;
    ::setenv("ACTORRUN_RUN_DIR", folder.c_str(), 1);
    auto opened = step_pages::open();
    REQUIRE(opened);
    uut = std::move(*opened);
  }

  ~step_pages_fixture() {
    if (before.empty())
      ::unsetenv("ACTORRUN_RUN_DIR");
    else
      ::setenv("ACTORRUN_RUN_DIR", before.c_str(), 1);
  }

  std::string path(int64_t pid) const {
    return uut->prefix() + std::to_string(pid) + ".steps";
  }

  void write(int64_t pid, core::step_page x) const {
    x.words[core::step_page::mark_word] = core::step_page::mark;
    std::ofstream{path(pid), std::ios::binary}.write(
      reinterpret_cast<const char*>(x.words.data()), sizeof x.words);
  }

  core::step_page one_step() const {
    auto out = core::step_page{};
    out.words[core::step_page::count_word] = 1;
    out.words[core::step_page::first_time_word] = 7'000'000;
    return out;
  }

  test_folders::folder place;
  std::string folder = place / "run";
  std::string before;
  std::unique_ptr<step_pages> uut;
};

} // namespace

TEST_CASE_METHOD(step_pages_fixture,
                 "step pages: what workers say is read; others say nothing",
                 "[runtime]") {
  write(100, one_step());
  std::ofstream{path(101)} << "short";
  fs::create_directory(path(102));
  fs::create_symlink(path(100), path(103));
  const auto x = uut->read({100, 101, 102, 103, 104});
  REQUIRE(x.size() == 1);
  CHECK(x.at(100) == core::step_reading{1, {7ms}});
}

TEST_CASE_METHOD(step_pages_fixture,
                 "step pages: files go with their workers, and with the agent",
                 "[runtime]") {
  write(100, one_step());
  write(101, one_step());
  write(102, one_step()); // Not read yet.
  CHECK(uut->read({100, 101}).size() == 2);
  uut->read({100});
  CHECK_FALSE(fs::exists(path(101)));
  CHECK(fs::exists(path(100)));
  SECTION("all") {
    const auto all = uut->prefix();
    uut.reset();
    CHECK((!fs::exists(folder) || fs::is_empty(folder)));
  }
  SECTION("but not one that is in use") {
    const auto used = path(100);
    const auto fd = ::open(used.c_str(), O_RDWR | O_CLOEXEC);
    REQUIRE(::flock(fd, LOCK_EX) == 0);
    uut->read({});
    CHECK(fs::exists(used));
    uut.reset();
    CHECK(fs::exists(used));
    ::close(fd);
  }
}

} // namespace actorrun::test::step_pages_test
