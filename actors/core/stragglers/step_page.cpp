#include "actors/core/stragglers/step_page.hpp"

#include <algorithm>
#include <chrono>

namespace actorrun::core {

namespace {

/// Longer ones are no times of steps.
constexpr auto step_time_max = duration{std::chrono::hours{24 * 7}};

} // namespace

std::optional<step_reading> read_step_page(const step_page& x) {
  const auto count = x.words[step_page::count_word];
  if (x.words[step_page::mark_word] != step_page::mark || count == 0)
    return {};
  auto out = step_reading{.step_count = count};
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
