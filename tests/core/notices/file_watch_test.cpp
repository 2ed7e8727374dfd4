#include "actors/core/notices/file_watch.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::file_watch_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

struct fixture {
  /// The words of the notice; `-`: there is none.
  std::string at(std::chrono::milliseconds t, const file_look& look) {
    return uut.step(look, time_point{t}).value_or("-");
  }

  static file_look file(uint64_t written, const std::string& line = "gone",
                        bool is_whole = true) {
    return {file_version{1, 2, 3, int64_t(written)}, line, is_whole};
  }

  file_watch uut{std::nullopt};
};

} // namespace

TEST_CASE_METHOD(fixture, "file watch: a file that appears is a notice",
                 "[core]") {
  CHECK(at(0s, {}) == "-");
  CHECK_FALSE(uut.due());
  CHECK(at(1s, file(1, "spot: terminate")) == "spot: terminate");
  CHECK(at(2s, file(2, "another")) == "-");
  CHECK_FALSE(uut.due());
}

TEST_CASE_METHOD(fixture, "file watch: a line may still be written", "[core]") {
  CHECK(at(1s, file(1, "", false)) == "-");
  CHECK(uut.due() == time_point{1'200ms});
  CHECK(at(1'100ms, file(2, "spot: te", false)) == "-");
  CHECK(uut.due() == time_point{1'200ms});
  SECTION("its end comes") {
    CHECK(at(1'150ms, file(3, "spot: terminate")) == "spot: terminate");
  }
  SECTION("its end does not come") {
    CHECK(at(1'199ms, file(2, "spot: te", false)) == "-");
    CHECK(at(1'200ms, file(2, "spot: te", false)) == "spot: te");
  }
  SECTION("the file is gone again") {
    CHECK(at(1'200ms, {}) == "spot: te");
  }
}

TEST_CASE_METHOD(fixture, "file watch: an empty file is a notice", "[core]") {
  CHECK(at(1s, file(1, "", false)) == "-");
  CHECK(at(1'200ms, file(1, "", false)) == "");
}

TEST_CASE_METHOD(fixture, "file watch: a file that is there has to change",
                 "[core]") {
  uut = file_watch{file(1).version};
  CHECK(at(0s, file(1)) == "-");
  SECTION("it is written again") {
    CHECK(at(1s, file(2)) == "gone");
  }
  SECTION("it has another size") {
    auto longer = file(1);
    longer.version->size = 4;
    CHECK(at(1s, longer) == "gone");
  }
  SECTION("another one takes its place") {
    auto other = file(1);
    other.version->inode = 9;
    CHECK(at(1s, other) == "gone");
  }
  SECTION("it goes, and comes back") {
    CHECK(at(1s, {}) == "-");
    CHECK(at(2s, file(1)) == "gone");
  }
}

} // namespace actorrun::test::file_watch_test
