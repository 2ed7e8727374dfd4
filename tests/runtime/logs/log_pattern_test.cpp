#include "runtime/logs/log_pattern.hpp"
#include "tests/support/catch.hpp"

#include <random>
#include <string>

#include <malloc.h>

namespace actorrun::test::log_pattern_test {

using namespace actorrun::detail;

namespace {

size_t used_bytes() {
  const auto x = ::mallinfo2();
  return x.uordblks + x.hblkhd;
}

} // namespace

TEST_CASE("log_pattern: whatever is asked for, memory is bounded",
          "[runtime]") {
  auto uut = log_pattern::parse(".*[aeiou].{100}[A-Z]");
  REQUIRE(uut);
  auto random = std::mt19937{1};
  auto line = std::string(1'000, ' ');
  const auto before = used_bytes();
  auto most = before;
  for (auto i = 0; i < 7; ++i) {
    for (auto& c : line)
      c = static_cast<char>('a' + random() % 26);
    CHECK_FALSE(uut->matches(line));
    most = std::max(most, used_bytes());
  }
  // 40 KiB for each byte of 4 KiB.
  CHECK(most - before < size_t{200} * 1024 * 1024);
}

TEST_CASE(
  "log_pattern: of a long line its beginning counts, if all of it could "
  "cost too much",
  "[runtime]") {
  const auto line = std::string(pattern_line_max, 'a') + "b";
  auto plain = log_pattern::parse("b$");
  REQUIRE(plain);
  CHECK(plain->matches(line));
  auto costly = log_pattern::parse("a*b");
  REQUIRE(costly);
  CHECK_FALSE(costly->matches(line));
  CHECK(costly->matches("aab"));
}

} // namespace actorrun::test::log_pattern_test
