#include "runtime/entry_points.hpp"
#include "runtime/process_group/entry_registry.hpp"
#include "tests/support/catch.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace actorrun::test::entry_points_test {

using namespace actorrun::detail;

namespace {

struct job {
  std::string name;
  int size = 0;
};

void from_json(const nlohmann::json& x, job& y) {
  y = {x.at("name").get<std::string>(), x.at("size").get<int>()};
}

void to_json(nlohmann::json& x, const job& y) {
  x = {{"name", y.name}, {"size", y.size}};
}

struct unwanted {};

void from_json(const nlohmann::json&, unwanted&) {
  throw 7;
}

long twice(const long& x) {
  return 2 * x;
}

entry_function function(const entry_point& x) {
  auto found = find_entry_point(x.name());
  REQUIRE(found);
  return *found;
}

std::string complaint(const entry_point& x, const argument_list& arguments) {
  return function(x).complaint(arguments).value_or("none");
}

// One function per name: each test has names of its own.
const auto mixed
  = entry_point("mixed", [](std::string a, int8_t b, double c, bool d) {
      return a + std::to_string(b) + std::to_string(c > 1) + (d ? "y" : "n");
    });

} // namespace

TEST_CASE("entry_points: a function gets its arguments and returns a value",
          "[runtime]") {
  const auto arguments = argument_list{"x", -128, 1.5, true};
  CHECK(complaint(mixed, arguments) == "none");
  CHECK(function(mixed).call(arguments) == "x-1281y");
  CHECK(complaint(mixed, {"x", 1, 2, false}) == "none"); // An integral double.
}

TEST_CASE("entry_points: a plain function and one that returns nothing",
          "[runtime]") {
  const auto plain = entry_point("plain", &twice);
  CHECK(function(plain).call({21}) == 42);
  static auto called = 0;
  const auto silent = entry_point("silent", [] { ++called; });
  CHECK(function(silent).call({}) == nullptr);
  CHECK(called == 1);
}

TEST_CASE("entry_points: types with conversions pass", "[runtime]") {
  const auto grown = entry_point(
    "grown", [](std::vector<job> xs, std::map<std::string, int> by) {
      for (auto& x : xs)
        x.size *= by.at(x.name);
      return xs;
    });
  const auto arguments = argument_list{std::vector<job>{{"a", 2}}, {{"a", 3}}};
  REQUIRE(complaint(grown, arguments) == "none");
  CHECK(function(grown).call(arguments)
        == nlohmann::json::parse(R"([{"name": "a", "size": 6}])"));
  CHECK(complaint(grown, {{{{"name", "a"}}}, nlohmann::json::object()})
          .starts_with("argument 1 "));
}

TEST_CASE("entry_points: a wrong number of arguments is refused", "[runtime]") {
  CHECK(complaint(mixed, {"x", 1, 2.5}) == "takes 4 arguments, not 3");
  CHECK(complaint(mixed, {"x", 1, 2.5, true, 0}) == "takes 4 arguments, not 5");
  const auto one = entry_point("one", [](int) {});
  CHECK(complaint(one, {}) == "takes 1 argument, not 0");
}

TEST_CASE("entry_points: an argument of the wrong type is refused",
          "[runtime]") {
  CHECK(complaint(mixed, {1, 1, 2.5, true}).starts_with("argument 1 "));
  CHECK(complaint(mixed, {"x", 1.0, 2.5, true})
        == "argument 2 must be an integer -128..127, not 1.0");
  CHECK(complaint(mixed, {"x", 1, "2", true})
        == "argument 3 must be a number, not string");
  CHECK(complaint(mixed, {"x", 1, 2.5, 1})
        == "argument 4 must be a boolean, not 1");
}

TEST_CASE("entry_points: a conversion may refuse in its own way", "[runtime]") {
  const auto picky = entry_point("picky", [](unwanted) {});
  CHECK(complaint(picky, {1}) == "argument 1 is refused");
}

TEST_CASE("entry_points: no integer is truncated", "[runtime]") {
  CHECK(complaint(mixed, {"x", 127, 0, true}) == "none");
  CHECK(complaint(mixed, {"x", 128, 0, true})
        == "argument 2 must be an integer -128..127, not 128");
  CHECK(complaint(mixed, {"x", -129, 0, true})
        == "argument 2 must be an integer -128..127, not -129");
  const auto wide = entry_point("wide", [](uint64_t) {});
  CHECK(complaint(wide, {UINT64_MAX}) == "none");
  CHECK(complaint(wide, {0}) == "none");
  CHECK(complaint(wide, {-1}) != "none");
  const auto high = entry_point("high", [](int64_t) {});
  CHECK(complaint(high, {INT64_MAX}) == "none");
  CHECK(complaint(high, {INT64_MIN}) == "none");
  CHECK(complaint(high, {uint64_t{INT64_MAX} + 1}) != "none");
}

TEST_CASE("entry_points: an unknown or ambiguous name is an error",
          "[runtime]") {
  CHECK(find_entry_point("missing").error().text.starts_with(
    "no entry point is called \"missing\""));
  const auto first = entry_point("double", [] {});
  CHECK(find_entry_point("double"));
  const auto second = entry_point("double", [] {});
  CHECK(find_entry_point("double").error().text.starts_with(
    "2 entry points are called \"double\""));
}

TEST_CASE("entry_points: a name has 1 to 255 bytes", "[runtime]") {
  const auto longest = std::string(255, 'n');
  const auto x = entry_point(longest, [] {});
  CHECK(find_entry_point(longest));
  const auto y = entry_point(longest + "n", [] {});
  CHECK(find_entry_point(longest + "n").error().text
        == "the name of an entry point has 256 bytes, not 1..255");
  CHECK_FALSE(find_entry_point(""));
  CHECK_FALSE(find_entry_point(std::string{"a\0b", 3}));
}

} // namespace actorrun::test::entry_points_test
