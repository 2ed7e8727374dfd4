#include "actors/core/stragglers/step_page.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::step_page_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

TEST_CASE("step page: the times of the last steps, the newest last", "[core]") {
  auto page = step_page{};
  CHECK_FALSE(read_step_page(page)); // A file that no worker has mapped yet.
  page.words[step_page::count_word] = 2;
  CHECK_FALSE(read_step_page(page));
  page.words[step_page::mark_word] = step_page::mark;
  page.words[step_page::first_time_word] = 1'000'000;
  page.words[step_page::first_time_word + 1] = 2'000'000;
  CHECK(read_step_page(page) == step_reading{2, {1ms, 2ms}});
  page.words[step_page::count_word] = 0;
  CHECK_FALSE(read_step_page(page));
}

TEST_CASE("step page: it has room for 64 steps, and any words are times",
          "[core]") {
  auto page = step_page{};
  page.words[step_page::mark_word] = step_page::mark;
  page.words[step_page::count_word] = 66;
  for (size_t i = 0; i < step_page::newest_max; ++i)
    page.words[step_page::first_time_word + i] = i;
  const auto x = read_step_page(page);
  REQUIRE(x);
  CHECK(x->newest.size() == 64);
  CHECK(x->newest.front() == 2ns);
  CHECK(x->newest.back() == 1ns);
  page.words[step_page::first_time_word] = UINT64_MAX;
  page.words[step_page::count_word] = UINT64_MAX;
  CHECK(read_step_page(page)->step_count == UINT64_MAX);
  CHECK(read_step_page(page)->newest[1] == 24h * 7);
}

} // namespace actorrun::test::step_page_test
