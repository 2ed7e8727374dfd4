#include "actors/core/logs/log_selection.hpp"
#include "tests/support/catch.hpp"

#include <string>

namespace actorrun::test::log_selection_test {

using namespace actorrun::core;

TEST_CASE("log_selection: no ranks are all ranks", "[core]") {
  CHECK(log_selection{}.has_rank(7));
  CHECK(log_selection{.ranks = {3, 7}}.has_rank(7));
  CHECK_FALSE(log_selection{.ranks = {3, 7}}.has_rank(4));
}

TEST_CASE("log_selection: an expression that may cost too much is refused",
          "[core]") {
  const auto [text, passes] = GENERATE(table<std::string, bool>({
    {"", true},
    {"loss=(nan|inf)", true},
    {R"(\(a\)|\\1)", true}, // A backslash and a one.
    {"a{255}", true},
    {"a{2,4}b{3}", true},
    {R"((a)\1)", false},
    {"a{257}", false},
    {"(a{100}){100}", false},
    {"a{1,999999999999999999999}", false},
    {std::string(512, 'a'), true},
    {std::string(513, 'a'), false},
    {std::string("a\0b", 3), false},
  }));
  INFO(text);
  const auto checked = check_pattern(text);
  CHECK(bool{checked} == passes);
  if (!checked)
    CHECK(checked.error().code == errc::bad_argument);
}

} // namespace actorrun::test::log_selection_test
