#include "actors/core/store/cost.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/sanitizer.hpp"
#include "tests/support/skip.hpp"

#include <cstdlib>
#include <string>

#include <malloc.h>

using namespace actorrun::core;

// A block that is used again may be 16 bytes larger: less cannot stand alone.
TEST_CASE("block_cost: is what malloc takes", "[core]") {
  CHECK(block_cost(0) == 0);
  if constexpr (actorrun::test::has_address_sanitizer
                || actorrun::test::has_thread_sanitizer) {
    actorrun::test::skip("malloc", "a sanitizer has a malloc of its own");
    return;
  }
  constexpr auto sizes = size_t{5'000};
  auto exact_count = size_t{0};
  for (size_t size = 1; size <= sizes; ++size) {
    auto* block = std::malloc(size);
    const auto taken = ::malloc_usable_size(block) + sizeof(size_t);
    std::free(block);
    REQUIRE(block_cost(size) <= taken);
    REQUIRE(block_cost(size) + 16 >= taken);
    exact_count += block_cost(size) == taken ? 1 : 0;
  }
  CHECK(exact_count > sizes * 9 / 10);
}

TEST_CASE("block_cost: large blocks are whole pages", "[core]") {
  constexpr auto large = size_t{1} << 20;
  CHECK(block_cost(large) == large + 4'096);
  CHECK(block_cost(large - 16) == large);
  CHECK(block_cost(large - 15) == large + 4'096);
}

TEST_CASE("text_capacity: is what a new text reserves", "[core]") {
  for (size_t size = 0; size < 200; ++size) {
    auto text = std::string{};
    text.reserve(size);
    REQUIRE(text_capacity(size) == text.capacity());
  }
}

TEST_CASE("text_cost: short texts need no block", "[core]") {
  CHECK(text_cost(std::string(15, 'x')) == 0);
  CHECK(text_cost(std::string(16, 'x')) == block_cost(17));
}
