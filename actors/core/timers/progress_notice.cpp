#include "actors/core/timers/progress_notice.hpp"

#include "actors/core/text.hpp"

#include <charconv>
#include <chrono>
#include <cstdint>
#include <limits>

namespace actorrun::core {

namespace {

constexpr uint64_t microseconds_max
  = std::numeric_limits<duration::rep>::max() / 1'000;

std::optional<duration> read_microseconds(std::string_view text) {
  auto count = uint64_t{0};
  const auto* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, count);
  if (text.empty() || at != end || error != std::errc{}
      || count > microseconds_max)
    return std::nullopt;
  return std::chrono::microseconds{count};
}

void read_line(std::string_view line, progress_notice& out) {
  constexpr std::string_view interval = "WATCHDOG_USEC=";
  if (line == "WATCHDOG=1")
    out.is_alive = true;
  else if (line == "WATCHDOG=trigger")
    out.is_stuck = true;
  else if (line == "STOPPING=1")
    out.is_stopping = true;
  else if (line.starts_with(interval))
    if (const auto x = read_microseconds(line.substr(interval.size())))
      out.interval = x;
}

} // namespace

progress_notice read_notice(std::string_view text) {
  auto out = progress_notice{};
  if (text.size() > notice_size_max || text.find('\0') != text.npos)
    return out;
  while (!text.empty())
    read_line(take_until(text, '\n'), out);
  return out;
}

} // namespace actorrun::core
