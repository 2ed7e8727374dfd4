#include "actors/core/logs/line_splitter.hpp"
#include "actors/core/logs/log_selection.hpp"
#include "tests/support/catch.hpp"

#include <string>

namespace actorrun::test::line_splitter_test {

using namespace actorrun::core;

namespace {

/// All lines of a text that comes in pieces of this size, each with `|`; a cut one
/// with `…` in front of that.
std::string lines_of(const std::string& text, size_t step) {
  auto uut = line_splitter{};
  auto out = std::string{};
  const auto note = [&](const split_line& x) {
    out += std::string{x.text} + (x.truncated ? "…|" : "|");
  };
  for (size_t i = 0; i < text.size(); i += step) {
    uut.add(text.substr(i, step));
    while (const auto x = uut.next())
      note(*x);
  }
  if (const auto x = uut.rest())
    note(*x);
  return out;
}

} // namespace

TEST_CASE("line_splitter: the pieces make no difference", "[core]") {
  const auto [text, lines] = GENERATE(table<std::string, std::string>({
    {"", ""},
    {"a\nbc\n", "a|bc|"},
    {"a\n\nb", "a||b|"},
    {"a\r\nb\r\n", "a|b|"},
    {"10%\r20%\r30%\n", "30%|"},
    {"\r10%\r20%\nx\n", "20%|x|"},
    {"10%\r20%\r", "20%|"},
    {std::string("\0\0\0a\n", 5), "a|"},
  }));
  for (size_t step = 1; step <= text.size() + 1; ++step) {
    INFO(step);
    CHECK(lines_of(text, step) == lines);
  }
}

TEST_CASE("line_splitter: a long line is cut, the next one is not", "[core]") {
  const auto step = GENERATE(size_t{1'000}, size_t{1'000'000});
  const auto line = std::string(log_line_max, 'x');
  CHECK(lines_of(line + "\na\n", step) == line + "|a|");
  CHECK(lines_of(line + "y\na\n", step) == line + "…|a|");
  CHECK(lines_of(line + "y", step) == line + "…|");
}

TEST_CASE("line_splitter: what was lost ends a line", "[core]") {
  auto uut = line_splitter{};
  uut.add("old");
  REQUIRE_FALSE(uut.next());
  uut.break_off();
  uut.add("new\n");
  CHECK(uut.next()->text == "new");
  CHECK_FALSE(uut.next());
  CHECK_FALSE(uut.rest());
}

} // namespace actorrun::test::line_splitter_test
