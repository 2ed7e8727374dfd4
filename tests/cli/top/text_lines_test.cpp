#include "cli/top/text_lines.hpp"
#include "tests/cli/top/picture.hpp"
#include "tests/support/catch.hpp"

#include "messages/operator.pb.h"

namespace actorrun::test::text_lines_test {

using namespace actorrun::cli::top;

namespace {

v1::LogLines one_line(const std::string& text) {
  auto out = v1::LogLines{};
  auto& x = *out.add_lines();
  x.set_rank(3);
  x.set_text(text);
  return out;
}

std::string text_of_line(const std::string& text) {
  const auto all = lines_of(one_line(text));
  REQUIRE(all.size() == 1);
  return plain_text(all.front());
}

} // namespace

TEST_CASE("text_lines: a line of a log has a label, which is dim", "[cli]") {
  use_utf8();
  const auto all = lines_of(one_line("step 7: loss 0.5"));
  REQUIRE(all.size() == 1);
  CHECK(plain_text(all.front()) == "[rank3]:step 7: loss 0.5");
  CHECK(all.front().front() == span{"[rank3]:", style::dim});
}

TEST_CASE("text_lines: what a worker writes commands no terminal", "[cli]") {
  use_utf8();
  CHECK(text_of_line("a\x1b[2Jb\r\a") == "[rank3]:ab\\x0d\\x07");
  CHECK(text_of_line("a\xff") == "[rank3]:a\xef\xbf\xbd");
  CHECK(text_of_line("\ta") == "[rank3]:        a");
  CHECK(text_of_line("12345\ta") == "[rank3]:12345   a");
}

TEST_CASE("text_lines: a line is never longer than a terminal can take",
          "[cli]") {
  use_utf8();
  CHECK(text_of_line(std::string(100'000, 'x')).size() < 5'000);
}

TEST_CASE("text_lines: what is missing comes last", "[cli]") {
  use_utf8();
  auto x = one_line("a");
  x.set_trouble("n2: 12 bytes of rank 3 were rotated away");
  const auto all = lines_of(x);
  REQUIRE(all.size() == 2);
  CHECK(all.back() == note_line("n2: 12 bytes of rank 3 were rotated away"));
  CHECK(all.back().front().look == style::warning);
  CHECK(lines_of(v1::LogLines{}).empty());
}

} // namespace actorrun::test::text_lines_test
