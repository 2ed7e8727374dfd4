#include "actors/core/hosts/line_labeller.hpp"
#include "tests/support/catch.hpp"

#include <string>

namespace actorrun::test::line_labeller_test {

namespace {

using namespace actorrun::core;

TEST_CASE("line_labeller: each line gets the label, however it comes",
          "[core]") {
  const auto text = std::string{"one\n\ntwo\r\nthree"};
  for (size_t size = 1; size <= text.size(); ++size) {
    auto uut = line_labeller{"a: "};
    auto out = std::string{};
    for (size_t i = 0; i < text.size(); i += size)
      uut.add(std::string_view{text}.substr(i, size), out);
    CHECK(out == "a: one\na: \na: two\n");
    uut.end(out);
    CHECK(out == "a: one\na: \na: two\na: three\n");
  }
}

TEST_CASE("line_labeller: an end without a rest gives no line", "[core]") {
  auto uut = line_labeller{"a: "};
  auto out = std::string{};
  uut.end(out);
  uut.add("x\n", out);
  uut.end(out);
  CHECK(out == "a: x\n");
}

TEST_CASE(
  "line_labeller: of a line that was written over, the last state stays",
  "[core]") {
  auto uut = line_labeller{"a: "};
  auto out = std::string{};
  uut.add("\r 1 %\r 50 %\r 100 %\n", out);
  CHECK(out == "a:  100 %\n");
}

TEST_CASE("line_labeller: a line of the limit is one, a longer one is two",
          "[core]") {
  for (const auto more : {0u, 1u, 5u}) {
    const auto text = std::string(labelled_line_max + more, 'x');
    auto uut = line_labeller{"a: "};
    auto out = std::string{};
    uut.add(text, out);
    uut.add("\n", out);
    const auto lines = std::count(out.begin(), out.end(), '\n');
    CHECK(lines == (more == 0 ? 1 : 2));
    CHECK(std::count(out.begin(), out.end(), 'x')
          == static_cast<ptrdiff_t>(text.size()));
  }
}

} // namespace

} // namespace actorrun::test::line_labeller_test
