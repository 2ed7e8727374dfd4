#include "actors/core/stragglers/step_page.hpp"

#include <algorithm>
#include <chrono>

namespace actorrun::core {

namespace {

/// Longer ones are no times of steps.
constexpr auto step_time_max = duration{std::chrono::hours{24 * 7}};

/// Times and moments beyond would overflow in sums.
constexpr auto save_time_max = duration{std::chrono::hours{24 * 365 * 50}};

duration save_time_of(uint64_t word) {
  return duration{static_cast<int64_t>(
    std::min(word, static_cast<uint64_t>(save_time_max.count())))};
}

save_reading read_saves(const step_page& x) {
  auto out = save_reading{
    .save_count = x.words[step_page::save_count_word],
    .saving = save_time_of(x.words[step_page::saving_word]),
    .saved_up_to
    = time_point{save_time_of(x.words[step_page::saved_up_to_word])},
    .saving_before = save_time_of(x.words[step_page::saving_before_word])};
  if (const auto since = x.words[step_page::saving_since_word]; since != 0)
    out.saving_since = time_point{save_time_of(since)};
  return out;
}

} // namespace

uint64_t beats_of(const step_reading& x) {
  return x.step_count + 2 * x.saves.save_count + (x.saves.saving_since ? 1 : 0);
}

std::optional<step_reading> read_step_page(const step_page& x) {
  const auto count = x.words[step_page::count_word];
  if (x.words[step_page::mark_word] != step_page::mark)
    return {};
  auto out = step_reading{.step_count = count, .saves = read_saves(x)};
  if (count == 0 && out.saves == save_reading{})
    return {};
  const auto known = std::min<uint64_t>(count, step_page::newest_max);
  for (auto step = count - known; step < count; ++step) {
    const auto word
      = x.words[step_page::first_time_word + step % step_page::newest_max];
    out.newest.emplace_back(
      std::min(word, static_cast<uint64_t>(step_time_max.count())));
  }
  return out;
}

} // namespace actorrun::core
