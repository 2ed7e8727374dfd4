#include "actors/core/store/cost.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/sanitizer.hpp"
#include "tests/support/skip.hpp"

#include <cstdlib>
#include <string>
#include <vector>

#include <malloc.h>

namespace actorrun::test::cost_test {

using namespace actorrun::core;

// A block that is used again may be 16 bytes larger: less cannot stand alone.
TEST_CASE("block_cost: is what glibc's malloc takes", "[core]") {
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
    REQUIRE(glibc_block_cost(size) <= taken);
    REQUIRE(glibc_block_cost(size) + 16 >= taken);
    exact_count += glibc_block_cost(size) == taken ? 1 : 0;
  }
  CHECK(exact_count > sizes * 9 / 10);
}

TEST_CASE("block_cost: large blocks of glibc are whole pages", "[core]") {
  constexpr auto large = size_t{1} << 20;
  CHECK(glibc_block_cost(large) == large + 4'096);
  CHECK(glibc_block_cost(large - 16) == large);
  CHECK(glibc_block_cost(large - 15) == large + 4'096);
}

// The sizes are those that jemalloc(3) lists.
TEST_CASE("block_cost: is what jemalloc takes", "[core]") {
  const auto sizes = std::vector<size_t>{
    16,    32,    48,    64,    80,    96,     112,    128,   160,
    192,   224,   256,   320,   384,   448,    512,    640,   768,
    896,   1'024, 1'280, 1'536, 1'792, 2'048,  2'560,  3'072, 3'584,
    4'096, 5'120, 6'144, 7'168, 8'192, 10'240, 12'288, 14'336};
  auto smaller = size_t{0};
  for (const auto x : sizes) {
    CHECK(jemalloc_block_cost(smaller + 1) == x);
    CHECK(jemalloc_block_cost(x) == x);
    smaller = x;
  }
  CHECK(jemalloc_block_cost(smaller + 1) == 16'384);
  CHECK(jemalloc_block_cost(16'385) == 20'480);
  CHECK(jemalloc_block_cost(size_t{1} << 20) == size_t{1} << 20);
}

TEST_CASE("block_cost: is what the greedier of both takes", "[core]") {
  CHECK(block_cost(0) == 0);
  CHECK(block_cost(1) == 32);
  CHECK(block_cost(120) == 128);
  CHECK(block_cost(121) == 144);
  CHECK(block_cost(1'025) == 1'280);
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

} // namespace actorrun::test::cost_test
