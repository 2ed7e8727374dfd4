#include "actors/core/shared_value.hpp"
#include "tests/support/catch.hpp"

#include <string>
#include <utility>

namespace actorrun::test::shared_value_test {

using actorrun::core::shared_value;

TEST_CASE("shared_value: copies are one in memory, and compared as values",
          "[core]") {
  const auto a = shared_value<std::string>{"a text that is not short"};
  const auto b = a;
  CHECK(&*a == &*b);
  const auto c = shared_value<std::string>{*a};
  CHECK(&*a != &*c);
  CHECK(a == c);
  CHECK(c->size() == a->size());
  CHECK_FALSE(a == shared_value<std::string>{"another"});
}

TEST_CASE("shared_value: none is empty, not even one that was moved",
          "[core]") {
  CHECK(*shared_value<int>{} == 0);
  auto a = shared_value<std::string>{"x"};
  const auto b = std::move(a);
  CHECK(*b == "x");
  CHECK(*a == "x");
  a = "y";
  CHECK(*b == "x");
  CHECK(*a == "y");
}

} // namespace actorrun::test::shared_value_test
