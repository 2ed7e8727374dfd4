#include "cli/top/cells.hpp"
#include "tests/cli/top/picture.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::cells_test {

using namespace actorrun::cli::top;

TEST_CASE("top cells: texts are cut and filled by columns, not by bytes",
          "[cli]") {
  use_utf8();
  CHECK(fitted("abc", 5) == "abc  ");
  CHECK(fitted("abc", 5, true) == "  abc");
  CHECK(fitted("abcdef", 4) == "abc~");
  CHECK(fitted("abcdef", 1) == "a");
  CHECK(fitted("abc", 0).empty());
  CHECK(fitted("äöü", 4) == "äöü ");
  CHECK(width_of("日本") == 4);
  CHECK(fitted("日本語", 4) == "日~ "); // No half of one.
  CHECK(fitted("e\u0301x", 2) == "e\u0301x");
}

TEST_CASE("top cells: what has no width cannot move the rest", "[cli]") {
  use_utf8();
  CHECK(fitted("a\x1b[31m", 8) == "a?[31m  ");
  CHECK(fitted("a\tb\n", 6) == "a?b?  ");
  CHECK(fitted("\xff\xc3", 3) == "?? ");
  CHECK(fitted("\xe6\x97", 3) == "?? ");
}

TEST_CASE("top cells: a line is as wide as the screen", "[cli]") {
  use_utf8();
  const auto x = line{{"ab", style::good}, {"cd日", style::bad}};
  CHECK(fitted(x, 5) == line{{"ab", style::good}, {"cd ", style::bad}});
  CHECK(fitted(x, 1) == line{{"a", style::good}, {"", style::bad}});
  CHECK(fitted(line{}, 2) == line{{"  "}});
  CHECK(plain_text(fitted(x, 9)) == "abcd日");
}

TEST_CASE("top cells: a long text goes on below itself, at a space", "[cli]") {
  use_utf8();
  const auto text = [](const line& x, size_t width) {
    auto out = std::string{};
    for (const auto& y : wrapped(x, width))
      out += plain_text(y) + "|";
    return out;
  };
  const auto x = line{{"ab: ", style::dim}, {"one two three fourteen"}};
  CHECK(text(x, 30) == "ab: one two three fourteen|");
  CHECK(text(x, 17) == "ab: one two three|    fourteen|");
  CHECK(text(x, 16) == "ab: one two|    three|    fourteen|");
  CHECK(text(x, 14) == "ab: one two|    three|    fourteen|");
  CHECK(text(x, 13) == "ab:|  one two|  three|  fourteen|"); // No room beside.
  CHECK(text(x, 11)
        == "ab: one two three fourteen|"); // None at all: to be cut.
  CHECK(text({{"日本日本日本"}}, 11) == "日本日本日|本|");
  CHECK(text({}, 20) == "|");
}

TEST_CASE("top cells: what has no room beside a name is below it", "[cli]") {
  use_utf8();
  const auto x = line{{" up down PgUp Home  ", style::strong}, {"move there"}};
  CHECK(wrapped(x, 30).size() == 1);
  CHECK(wrapped(x, 29)
        == std::vector<line>{
          {{" up down PgUp Home", style::strong}},
          {{"  "}, {"move there"}},
        });
  const auto narrow = wrapped(x, 12);
  REQUIRE(narrow.size() == 3);
  CHECK(plain_text(narrow[0]) == " up down");
  CHECK(narrow[1].back().look == style::strong);
  CHECK(plain_text(narrow[2]) == "  move there");
  CHECK(wrapped({{" "}, {"日本日本日本日本日本"}}, 12).size() == 2);
}

} // namespace actorrun::test::cells_test
