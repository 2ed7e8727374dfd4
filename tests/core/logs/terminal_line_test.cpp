#include "actors/core/logs/terminal_line.hpp"
#include "tests/support/catch.hpp"

#include <string>

namespace actorrun::test::terminal_line_test {

using namespace actorrun::core;

TEST_CASE("terminal_line: text, tabs and colours pass, nothing else does",
          "[core]") {
  const auto [line, shown] = GENERATE(table<std::string, std::string>({
    {"", ""},
    {"step 3\tloss 0.5", "step 3\tloss 0.5"},
    {"Gr\xc3\xb6\xc3\x9f"
     "e \xf0\x9f\x98\x80",
     "Gr\xc3\xb6\xc3\x9f"
     "e \xf0\x9f\x98\x80"},
    {"\x1b[31;1mred", "\x1b[31;1mred\x1b[0m"},
    {"\x1b[0m", "\x1b[0m\x1b[0m"},
    {"\x1b[2J", "^[[2J"},
    {"\x1b]0;title\x07", "^[]0;title^G"},
    {"\x1b[31", "^[[31"},
    {"a\x08\x7f", "a^H^?"},
    {"\x9b"
     "31m",
     "\xef\xbf\xbd"
     "31m"},
    {"\xc2\x9b", "\xef\xbf\xbd\xef\xbf\xbd"}, // The same as two bytes.
    {"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"}, // Too long.
    {"\xe2\x80\xae", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, // Turns around.
    {"cut \xe2\x82", "cut \xef\xbf\xbd\xef\xbf\xbd"},
  }));
  INFO(line);
  CHECK(terminal_line(line) == shown);
}

} // namespace actorrun::test::terminal_line_test
