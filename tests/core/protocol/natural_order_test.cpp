// Tests natural_less, of actors/core/protocol/rank_assignment.hpp.
#include "actors/core/protocol/rank_assignment.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace actorrun::test::natural_order_test {

using namespace actorrun::core;

TEST_CASE("natural_less: hosts are ordered as people count", "[core]") {
  // Every text is less than all texts after it.
  const std::vector<std::string> ascending = {
    "",
    "-",
    "0",
    "00",
    "0a",
    "1",
    "01-",
    "1-",
    "2",
    "10",
    "18446744073709551616", // More than a machine word.
    "18446744073709551617",
    "100000000000000000000",
    "A",
    "a",
    "a0",
    "a01",
    "a1",
    "a1b",
    "a2",
    "a10",
    "a-1",
    "aa",
    "node1",
    "node1-2",
    "node1-10",
    "node02",
    "node2",
    "node10",
    "node10.cluster",
    "node11",
    "nodes",
    "rack2-node11",
    "rack10-node1",
    "\xff",
  };
  for (size_t i = 0; i < ascending.size(); ++i)
    for (size_t j = 0; j < ascending.size(); ++j) {
      CAPTURE(ascending[i], ascending[j]);
      CHECK(natural_less(ascending[i], ascending[j]) == (i < j));
    }
}

namespace {

/// Short texts of few characters, so that equal runs are frequent.
std::string some_text(std::mt19937& random) {
  constexpr auto characters = std::string_view{"001129ab-"};
  auto text = std::string{};
  for (auto n = random() % 7; n > 0; --n)
    text += characters[random() % characters.size()];
  return text;
}

/// The same comparison in the simplest way: lists of numbers and words. A
/// number is compared with a word by their texts.
struct part {
  std::string text;
  bool is_number;
};

std::vector<part> parts_of(const std::string& text) {
  auto parts = std::vector<part>{};
  for (const auto c : text) {
    const auto digit = c >= '0' && c <= '9';
    if (parts.empty() || parts.back().is_number != digit)
      parts.push_back({"", digit});
    parts.back().text += c;
  }
  return parts;
}

bool naive_less(const std::string& a, const std::string& b) {
  const auto x = parts_of(a);
  const auto y = parts_of(b);
  for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
    if (x[i].is_number && y[i].is_number) {
      const auto m = std::stoull(x[i].text);
      const auto n = std::stoull(y[i].text);
      if (m != n)
        return m < n;
    } else if (x[i].text != y[i].text) {
      return x[i].text < y[i].text;
    }
  }
  return x.size() != y.size() ? x.size() < y.size() : a < b;
}

} // namespace

TEST_CASE("natural_less: it agrees with comparing numbers and words",
          "[core]") {
  auto random = std::mt19937{1};
  for (int i = 0; i < 20'000; ++i) {
    const auto a = some_text(random);
    const auto b = some_text(random);
    CAPTURE(a, b);
    REQUIRE(natural_less(a, b) == naive_less(a, b));
  }
}

TEST_CASE("natural_less: of two texts one is less, unless they are equal",
          "[core]") {
  auto random = std::mt19937{2};
  for (int i = 0; i < 20'000; ++i) {
    const auto a = some_text(random);
    const auto b = some_text(random);
    CAPTURE(a, b);
    REQUIRE(natural_less(a, b) + natural_less(b, a) + (a == b) == 1);
  }
}

TEST_CASE("natural_less: it is transitive", "[core]") {
  auto random = std::mt19937{3};
  for (int i = 0; i < 20'000; ++i) {
    const auto a = some_text(random);
    const auto b = some_text(random);
    const auto c = some_text(random);
    CAPTURE(a, b, c);
    if (natural_less(a, b) && natural_less(b, c))
      REQUIRE(natural_less(a, c));
  }
}

TEST_CASE("natural_less: sorting gives one order from any initial order",
          "[core]") {
  auto random = std::mt19937{4};
  auto texts = std::vector<std::string>{};
  for (int i = 0; i < 200; ++i)
    texts.push_back(some_text(random));
  std::sort(texts.begin(), texts.end(), natural_less);
  for (int i = 0; i < 20; ++i) {
    auto others = texts;
    std::shuffle(others.begin(), others.end(), random);
    std::sort(others.begin(), others.end(), natural_less);
    REQUIRE(others == texts);
  }
}

} // namespace actorrun::test::natural_order_test
