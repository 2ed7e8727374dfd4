#include "actors/core/time.hpp"

#include <algorithm>

namespace actorrun::core {

namespace {

using ms = timeouts::ms;

constexpr auto second = ms{1'000};

bool are_given(const timeouts& x) {
  const auto usual = timeouts{};
  return x.keep_alive_is_given
         || x.keep_alive_interval != usual.keep_alive_interval
         || x.keep_alive_attempts != usual.keep_alive_attempts;
}

/// Up to 2,500 nodes.
ms interval_of(uint32_t agent_count) {
  constexpr auto shortest = ms{60};
  constexpr auto longest = ms{500};
  return std::clamp(agent_count * second / small_job_rate, shortest, longest);
}

// A coordinator that is started again is away for as long as all of them need, and
// the last answer may be an interval old when it ends.
uint32_t attempts_of(uint32_t agent_count, ms interval) {
  const auto away = std::chrono::ceil<ms>(agent_count * return_time);
  return 1 + static_cast<uint32_t>((away + interval - ms{1}) / interval);
}

} // namespace

timeouts fitted(timeouts x, uint32_t agent_count_max) {
  const auto usual = timeouts{};
  if (x.connect == usual.connect)
    x.connect = std::max(usual.connect, entry_time * agent_count_max);
  if (are_given(x))
    return x;
  const auto of_rate = std::chrono::ceil<ms>(agent_count_max * duration{second}
                                             / large_job_rate);
  const auto wanted = std::max(interval_of(agent_count_max), of_rate);
  const auto usual_attempts = static_cast<uint32_t>(usual.fence() / wanted);
  x.keep_alive_attempts
    = std::max({usual_attempts, attempts_of(agent_count_max, wanted), 2U});
  x.keep_alive_interval
    = std::max(wanted, usual.fence() / x.keep_alive_attempts);
  return x;
}

} // namespace actorrun::core
