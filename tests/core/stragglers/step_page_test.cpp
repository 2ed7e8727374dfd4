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

TEST_CASE("step page: a worker that only saves says so, whatever it writes",
          "[core]") {
  auto page = step_page{};
  page.words[step_page::mark_word] = step_page::mark;
  page.words[step_page::saving_since_word] = 7;
  auto x = read_step_page(page);
  REQUIRE(x);
  CHECK(x->step_count == 0);
  CHECK(x->newest.empty());
  CHECK(x->saves == save_reading{.saving_since = time_point{7ns}});
  CHECK(beats_of(*x) == 1);
  page.words[step_page::saving_since_word] = 0;
  page.words[step_page::save_count_word] = 2;
  page.words[step_page::saved_up_to_word] = 100;
  page.words[step_page::saving_word] = 30;
  page.words[step_page::saving_before_word] = 10;
  page.words[step_page::count_word] = 3;
  x = read_step_page(page);
  CHECK(x->saves == save_reading{2, 30ns, {}, time_point{100ns}, 10ns});
  CHECK(beats_of(*x) == 7);
  for (auto i = step_page::save_count_word; i < step_page::first_time_word; ++i)
    page.words[i] = UINT64_MAX;
  x = read_step_page(page);
  constexpr auto longest = duration{24h * 365 * 50};
  CHECK(x->saves
        == save_reading{UINT64_MAX, longest, time_point{longest},
                        time_point{longest}, longest});
}

} // namespace actorrun::test::step_page_test
