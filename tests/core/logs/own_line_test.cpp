#include "actors/core/logs/own_line.hpp"
#include "tests/support/catch.hpp"

#include <string>

namespace actorrun::test::own_line_test {

using namespace actorrun::core;

namespace {

std::string safe(const std::string& line) {
  auto room = std::string{};
  return std::string{own_line(line, room)};
}

} // namespace

TEST_CASE("own_line: a plain line stays where it is", "[core]") {
  auto room = std::string{};
  const auto line = std::string_view{"coordinator accepts agent n1:\t1 worker"};
  CHECK(own_line(line, room).data() == line.data());
  CHECK(room.empty());
  CHECK(safe("caf\xc3\xa9 \xe2\x80\xa6") == "caf\xc3\xa9 \xe2\x80\xa6");
}

TEST_CASE("own_line: S8 no text of others forges a line", "[core]") {
  CHECK(safe("is for agent x\n[actorrun 00:00:00.000 error] forged")
        == "is for agent x\n  [actorrun 00:00:00.000 error] forged");
  CHECK(safe("a\r[actorrun]") == "a\\x0d[actorrun]");
  CHECK(safe("a\n\n\nb") == "a\n  \n  \n  b");
}

TEST_CASE("own_line: S8 no text of others reaches the terminal as a control",
          "[core]") {
  CHECK(safe("\x1b[2J\x1b]0;title\x07gone") == "gone");
  CHECK(safe("a\xc2\x9b"
             "31mb")
        == "a\xef\xbf\xbd"
           "31mb");
  CHECK(safe("a\xe2\x80\xaez") == "a\xef\xbf\xbdz");
  CHECK(safe("\xff") == "\xef\xbf\xbd");
}

TEST_CASE("own_line: S8 a line has a bound", "[core]") {
  CHECK(safe(std::string(own_line_max, 'x')).size() == own_line_max);
  const auto long_one = safe(std::string(60'000, 'x'));
  CHECK(long_one.size() == own_line_max + 3);
  CHECK(long_one.ends_with("\xe2\x80\xa6"));
}

} // namespace actorrun::test::own_line_test
