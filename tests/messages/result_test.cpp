#include "messages/result.hpp"
#include "tests/support/catch.hpp"

#include <memory>
#include <string>
#include <vector>

namespace actorrun::test::result_test {

namespace {

result<int> half(int x) {
  if (x % 2 != 0)
    return failure{errc::bad_argument, std::to_string(x) + " is odd"};
  return x / 2;
}

} // namespace

TEST_CASE("result: it holds a value or a failure", "[messages]") {
  const auto good = half(8);
  REQUIRE(good);
  CHECK(*good == 4);
  const auto bad = half(7);
  REQUIRE_FALSE(bad);
  CHECK(bad.error().code == errc::bad_argument);
  CHECK(bad.error().text == "7 is odd");
}

TEST_CASE("result: a value that is false is a value", "[messages]") {
  CHECK(result<bool>{false});
  CHECK(half(0));
  CHECK(result<std::string>{std::string{}});
  CHECK(result<std::unique_ptr<int>>{nullptr});
}

TEST_CASE("result: a failure without a text is a failure", "[messages]") {
  const auto bad = result<int>{failure{errc::system_failure, {}}};
  REQUIRE_FALSE(bad);
  CHECK(bad.error() == failure{errc::system_failure, ""});
}

TEST_CASE("result: the value can be changed in place", "[messages]") {
  auto words = result<std::vector<std::string>>{{"a"}};
  words->push_back("b");
  (*words)[0].append("c");
  CHECK(*words == std::vector<std::string>{"ac", "b"});
  const auto& view = words;
  CHECK(view->size() == 2);
}

TEST_CASE("result: the value can be moved in and out", "[messages]") {
  auto owner = result<std::unique_ptr<int>>{std::make_unique<int>(3)};
  REQUIRE(owner);
  const auto taken = std::move(*owner);
  CHECK(*taken == 3);
  CHECK(*owner == nullptr);
}

TEST_CASE("result: assigning replaces either by either", "[messages]") {
  auto x = half(7);
  x = half(6);
  REQUIRE(x);
  CHECK(*x == 3);
  x = half(5);
  REQUIRE_FALSE(x);
  CHECK(x.error().text == "5 is odd");
}

TEST_CASE("result: failures compare by code and text", "[messages]") {
  const auto why = failure{errc::job_mismatch, "x"};
  CHECK(why == failure{errc::job_mismatch, "x"});
  CHECK(why != failure{errc::job_mismatch, "y"});
  CHECK(why != failure{errc::secret_mismatch, "x"});
  CHECK(failure{} == failure{errc::none, ""});
}

TEST_CASE("result: failures are made with their code", "[messages]") {
  CHECK(bad_argument("x") == failure{errc::bad_argument, "x"});
  CHECK(system_failure("x") == failure{errc::system_failure, "x"});
}

} // namespace actorrun::test::result_test
