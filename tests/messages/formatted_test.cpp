#include "messages/formatted.hpp"
#include "messages/ids.hpp"
#include "tests/support/catch.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace actorrun::test::formatted_test {

TEST_CASE("formatted: text without places stays as it is", "[messages]") {
  CHECK(formatted("") == "");
  CHECK(formatted("worker ended") == "worker ended");
}

TEST_CASE("formatted: values stand in their places", "[messages]") {
  const auto name = std::string{"trainer"};
  CHECK(formatted("{} has {} of {}", name, 3, size_t{8})
        == "trainer has 3 of 8");
  CHECK(formatted("{}{}", std::string_view{"a"}, "b") == "ab");
  CHECK(formatted("{1}, {0}", 1, 2) == "2, 1");
}

TEST_CASE("formatted: numbers are those of std::to_string", "[messages]") {
  const auto least = std::numeric_limits<int64_t>::min();
  const auto most = std::numeric_limits<uint64_t>::max();
  CHECK(formatted("{}", least) == std::to_string(least));
  CHECK(formatted("{}", most) == std::to_string(most));
  // Whatever the type of a byte, it is a number; only char is a character.
  CHECK(formatted("{} {} {}", uint8_t{7}, int8_t{-7}, 'x') == "7 -7 x");
}

TEST_CASE("formatted: braces are doubled", "[messages]") {
  CHECK(formatted("{{{}}}", 1) == "{1}");
  // Those of an argument are not looked at.
  CHECK(formatted("{}", "{}") == "{}");
}

TEST_CASE("formatted: a text keeps its zeros", "[messages]") {
  const auto text = std::string{"a\0b", 3};
  CHECK(formatted("{}", text) == text);
}

TEST_CASE("formatted: ids are passed as text or number", "[messages]") {
  CHECK(formatted("generation {}", to_string(generation_id{4}))
        == "generation 4");
  CHECK(formatted("agent {}", agent_id{"n1"}.value) == "agent n1");
}

} // namespace actorrun::test::formatted_test
