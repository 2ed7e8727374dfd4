#include "actors/core/rare_value.hpp"
#include "tests/support/catch.hpp"

#include <string>
#include <utility>

namespace actorrun::test::rare_value_test {

using text = actorrun::core::rare_value<std::string>;

TEST_CASE("rare_value: is none until it gets a value", "[core]") {
  auto uut = text{};
  CHECK_FALSE(uut.has_value());
  uut = std::string{"a"};
  REQUIRE(uut);
  CHECK(*uut == "a");
  CHECK(uut->size() == 1);
  uut.emplace() += "b";
  CHECK(*uut == "b");
  uut.reset();
  CHECK_FALSE(uut);
  CHECK(sizeof(text) == sizeof(void*));
}

TEST_CASE(
  "rare_value: copies have values of their own, and are compared by them",
  "[core]") {
  auto a = text{"a"};
  auto b = a;
  CHECK(a == b);
  *b += "b";
  CHECK(*a == "a");
  CHECK_FALSE(a == b);
  CHECK_FALSE(a == text{});
  CHECK(text{} == text{});
  a = b;
  CHECK(*a == "ab");
  const auto& itself = a;
  a = itself;
  CHECK(*a == "ab");
  a = text{};
  CHECK_FALSE(a);
  const auto c = std::move(b);
  CHECK(*c == "ab");
  CHECK_FALSE(b);
}

} // namespace actorrun::test::rare_value_test
