#include "cli/top/text_page.hpp"
#include "tests/support/catch.hpp"

#include <string>

namespace actorrun::test::text_page_test {

using namespace actorrun::cli::top;

namespace {

std::vector<line> numbered(size_t first, size_t count) {
  auto out = std::vector<line>{};
  for (auto i = first; i < first + count; ++i)
    out.push_back({{std::to_string(i)}});
  return out;
}

std::string last_of(const text_page& x) {
  return x.lines().empty() ? "" : plain_text(x.lines().back());
}

} // namespace

TEST_CASE("text_page: a whole text begins at its begin, and stays where it is",
          "[cli]") {
  auto uut = text_page{"stacks", false};
  uut.add(numbered(0, 50));
  CHECK(uut.title() == "stacks");
  CHECK(uut.place(30) == 0);
  uut.scroll(7, 30);
  CHECK(uut.place(30) == 7);
  uut.scroll(100, 30);
  CHECK(uut.place(30) == 30);
  CHECK_FALSE(uut.follows());
  CHECK_FALSE(uut.is_held());
  CHECK(uut.place(4) == 4); // The terminal has become higher.
  uut.scroll(-100, 30);
  CHECK(uut.place(30) == 0);
}

TEST_CASE("text_page: a whole text keeps all of its lines", "[cli]") {
  auto uut = text_page{"stacks", false};
  uut.add(numbered(0, page_lines_max + 1));
  CHECK(uut.lines().size() == page_lines_max + 1);
}

TEST_CASE("text_page: of a text that grows the end is shown, and kept",
          "[cli]") {
  auto uut = text_page{"log", true};
  uut.add(numbered(0, page_lines_max));
  CHECK(uut.follows());
  CHECK(uut.place(12) == 12);
  uut.add(numbered(page_lines_max, 3));
  CHECK(uut.lines().size() == page_lines_max);
  CHECK(plain_text(uut.lines().front()) == "3");
  CHECK(last_of(uut) == std::to_string(page_lines_max + 2));
}

TEST_CASE("text_page: news wait while the operator reads what came before",
          "[cli]") {
  auto uut = text_page{"log", true};
  uut.add(numbered(0, 20));
  uut.scroll(-5, 10);
  CHECK(uut.is_held());
  CHECK(uut.place(10) == 5);
  uut.add(numbered(20, page_lines_max + 5));
  CHECK(last_of(uut) == "19");
  CHECK(uut.place(10) == 5);
  uut.scroll(5, 10); // Back at the end.
  CHECK(uut.follows());
  CHECK_FALSE(uut.is_held());
  CHECK(last_of(uut) == std::to_string(page_lines_max + 24));
  CHECK(uut.lines().size() == page_lines_max);
}

} // namespace actorrun::test::text_page_test
