#include "runtime/os/temporary_folder.hpp"
#include "tests/runtime/folders.hpp"
#include "tests/runtime/refused_call.hpp"
#include "tests/support/catch.hpp"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>

namespace actorrun::test::temporary_folder_test {

using namespace actorrun::detail;

namespace fs = std::filesystem;

namespace {

/// `$TMPDIR` is a folder of its own.
struct fixture {
  fixture() {
    if (const auto* x = std::getenv("TMPDIR"))
      before = x;
    ::setenv("TMPDIR", place.path().c_str(), 1);
  }

  ~fixture() {
    if (before.empty())
      ::unsetenv("TMPDIR");
    else
      ::setenv("TMPDIR", before.c_str(), 1);
  }

  size_t count() const {
    const auto all = fs::directory_iterator{place.path()};
    return static_cast<size_t>(std::distance(begin(all), end(all)));
  }

  test_folders::folder place;
  std::string before;
};

} // namespace

TEST_CASE_METHOD(fixture,
                 "temporary_folder: that of a program that lives is not swept",
                 "[runtime]") {
  const auto uut = temporary_folder::make();
  REQUIRE(uut);
  CHECK(fs::path{uut->path()}.parent_path() == place.path());
  temporary_folder::sweep();
  CHECK(fs::exists(uut->path()));
  CHECK(count() == 1);
  uut->remove_if_unused();
  CHECK(count() == 0);
}

TEST_CASE_METHOD(fixture,
                 "temporary_folder: of many that killed programs have left, "
                 "each sweep removes a few",
                 "[runtime]") {
  for (char c = 'a'; c < 'a' + 20; ++c)
    fs::create_directory(place / ("actorrun_" + std::string(8, c)));
  for (const auto left : {12U, 4U, 0U}) {
    temporary_folder::sweep();
    CHECK(count() == left);
  }
}

TEST_CASE_METHOD(fixture,
                 "temporary_folder: a file system without locks does, too",
                 "[runtime]") {
  const auto error = GENERATE(ENOSYS, ENOLCK, EOPNOTSUPP);
  test_refused::with_refused(SYS_flock, error, [&] {
    const auto uut = temporary_folder::make();
    REQUIRE(uut);
    CHECK(fs::path{uut->path()}.parent_path() == place.path());
    CHECK(count() == 1);
    temporary_folder::sweep(); // It cannot see whether that program lives.
    CHECK(count() == 1);
    uut->remove_if_unused();
    CHECK(count() == 0);
  });
}

} // namespace actorrun::test::temporary_folder_test
