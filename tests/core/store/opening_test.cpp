#include "actors/core/store/opening.hpp"
#include "tests/support/catch.hpp"

#include <random>
#include <string>

namespace actorrun::test::opening_test {

using namespace actorrun::core;
using verdict = store_opening::verdict;

namespace {

const auto hello_of_2_2 = std::string{"\0\xce\xf7\x85\x3c", 5};

/// A request of torch 2.1 or before, with the number behind it.
std::string request(char number, uint64_t size) {
  auto out = std::string{number};
  for (auto i = 0; i < 8; ++i)
    out += static_cast<char>(size >> (8 * i));
  return out;
}

/// What is known while the bytes come one by one: the verdict of all of them, and
/// that it was open before.
verdict verdict_on(const std::string& bytes) {
  for (size_t size = 0; size < bytes.size(); ++size) {
    const auto x = store_opening_of(bytes.substr(0, size));
    if (x.is != verdict::open)
      return x.is;
    CHECK(x.wanted > size);
    CHECK(x.wanted <= store_opening_max);
  }
  return store_opening_of(bytes).is;
}

} // namespace

TEST_CASE("store_opening: nothing says nothing", "[core]") {
  const auto x = store_opening_of("");
  CHECK(x.is == verdict::open);
  CHECK(x.wanted == 1);
}

TEST_CASE("store_opening: torch from 2.2 on begins with its magic number",
          "[core]") {
  CHECK(verdict_on(hello_of_2_2) == verdict::client);
  CHECK(verdict_on(hello_of_2_2 + "\x0dnonce") == verdict::client);
  CHECK(store_opening_of(hello_of_2_2.substr(0, 1)).wanted == 5);
  for (size_t i = 1; i < hello_of_2_2.size(); ++i) {
    auto wrong = hello_of_2_2;
    wrong[i] ^= 1;
    CHECK(store_opening_of(wrong + "\x0dnonce").is == verdict::other);
  }
}

TEST_CASE("store_opening: before, with a request about keys", "[core]") {
  for (const auto number : {0, 1, 2, 3, 7, 8}) {
    const auto at = static_cast<char>(number);
    CHECK(verdict_on(request(at, 1)) == verdict::client);
    CHECK(verdict_on(request(at, 5) + "init/") == verdict::client);
    CHECK(verdict_on(request(at, 65'536)) == verdict::client);
    CHECK(verdict_on(request(at, 65'537)) == verdict::other);
    CHECK(verdict_on(request(at, 0)) == verdict::other);
  }
  for (const auto number : {4, 5, 9, 10}) {
    const auto at = static_cast<char>(number);
    CHECK(verdict_on(request(at, 1)) == verdict::client);
    CHECK(verdict_on(request(at, 131'072)) == verdict::client);
    CHECK(verdict_on(request(at, 131'073)) == verdict::other);
    CHECK(verdict_on(request(at, 0)) == verdict::other);
  }
}

TEST_CASE("store_opening: nothing else is a client's", "[core]") {
  for (auto number = 0; number < 256; ++number) {
    const auto has_keys = number <= 10 && number != 6;
    const auto first = std::string{static_cast<char>(number)};
    CHECK(store_opening_of(first).is
          == (has_keys ? verdict::open : verdict::other));
    for (auto i = 3; i < 8; ++i) {
      auto large = request(static_cast<char>(number), 1);
      large[1 + i] = 1;
      CHECK(store_opening_of(large).is == verdict::other);
    }
  }
  auto dice = std::mt19937{20'260'102};
  for (auto i = 0; i < 100'000; ++i) {
    auto bytes = std::string(store_opening_max, '\0');
    for (auto& x : bytes)
      x = static_cast<char>(dice());
    if (store_opening_of(bytes).is != verdict::other)
      FAIL("random bytes of round " << i);
  }
}

} // namespace actorrun::test::opening_test
