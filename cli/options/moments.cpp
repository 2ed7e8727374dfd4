#include "cli/options/moments.hpp"

#include "cli/options/values.hpp"
#include "messages/formatted.hpp"

#include <chrono>
#include <ctime>
#include <optional>

namespace actorrun::cli {

namespace {

constexpr int64_t ms_per_second = 1'000;
constexpr int64_t ms_per_minute = 60 * ms_per_second;

/// Takes what a moment is made of from the front of a text.
class moment_scanner {
public:
  explicit moment_scanner(std::string_view text) : rest_(text) {}

  bool take(char c) {
    if (!rest_.starts_with(c))
      return false;
    rest_.remove_prefix(1);
    return true;
  }

  /// A number of so many digits, at most `max`.
  std::optional<int> take_number(size_t digits, int max) {
    auto out = 0;
    if (rest_.size() < digits)
      return {};
    for (size_t i = 0; i < digits; ++i) {
      if (rest_[i] < '0' || rest_[i] > '9')
        return {};
      out = out * 10 + (rest_[i] - '0');
    }
    if (out > max)
      return {};
    rest_.remove_prefix(digits);
    return out;
  }

  /// `03:10`, `03:10:05`, `03:10:05.25`, in ms since midnight.
  std::optional<int64_t> take_clock() {
    const auto hours = take_number(2, 23);
    if (!hours || !take(':'))
      return {};
    const auto minutes = take_number(2, 59);
    if (!minutes)
      return {};
    auto out = (int64_t{*hours} * 60 + *minutes) * ms_per_minute;
    if (!take(':'))
      return out;
    const auto seconds = take_number(2, 60);
    if (!seconds)
      return {};
    out += *seconds * ms_per_second;
    if (!take('.'))
      return out;
    auto weight = int64_t{100};
    auto count = 0;
    for (; !rest_.empty() && rest_[0] >= '0' && rest_[0] <= '9'; ++count) {
      out += weight * (rest_[0] - '0');
      weight /= 10;
      rest_.remove_prefix(1);
    }
    return count > 0 ? std::optional{out} : std::nullopt;
  }

  /// `Z`, `+01:00`, `-0530`, in ms east; none: there is no such thing.
  std::optional<int64_t> take_zone() {
    if (take('Z'))
      return 0;
    const auto sign = rest_.starts_with('-') ? -1 : 1;
    if (!take('+') && !take('-'))
      return {};
    const auto hours = take_number(2, 14);
    if (!hours)
      return {};
    take(':');
    const auto minutes = take_number(2, 59);
    if (!minutes)
      return {};
    return sign * (int64_t{*hours} * 60 + *minutes) * ms_per_minute;
  }

  bool is_empty() const { return rest_.empty(); }

private:
  std::string_view rest_;
};

/// Midnight of a day here, in Unix time. @param days After that day.
int64_t midnight_ms(std::tm day, int days) {
  day.tm_hour = day.tm_min = day.tm_sec = 0;
  day.tm_mday += days;
  day.tm_isdst = -1;
  return int64_t{std::mktime(&day)} * ms_per_second;
}

/// With the day's own offset, also where the clock is changed on it.
int64_t local_ms(std::tm day, int64_t clock_ms, int days = 0) {
  day.tm_hour = static_cast<int>(clock_ms / (60 * ms_per_minute));
  day.tm_min = static_cast<int>(clock_ms / ms_per_minute % 60);
  day.tm_sec = static_cast<int>(clock_ms / ms_per_second % 60);
  day.tm_mday += days;
  day.tm_isdst = -1;
  return int64_t{std::mktime(&day)} * ms_per_second + clock_ms % ms_per_second;
}

std::tm local_parts(int64_t wall_ms) {
  const auto seconds = static_cast<std::time_t>(wall_ms / ms_per_second);
  auto out = std::tm{};
  ::localtime_r(&seconds, &out);
  return out;
}

std::optional<int64_t> parse_date(std::string_view text) {
  auto from = moment_scanner{text};
  auto day = std::tm{};
  const auto year = from.take_number(4, 9'999);
  if (!year || !from.take('-'))
    return {};
  const auto month = from.take_number(2, 12);
  if (!month || *month == 0 || !from.take('-'))
    return {};
  const auto of_month = from.take_number(2, 31);
  if (!of_month || *of_month == 0)
    return {};
  day.tm_year = *year - 1'900;
  day.tm_mon = *month - 1;
  day.tm_mday = *of_month;
  if (from.is_empty())
    return midnight_ms(day, 0);
  if (!from.take('T') && !from.take(' '))
    return {};
  const auto clock = from.take_clock();
  if (!clock)
    return {};
  if (from.is_empty())
    return local_ms(day, *clock);
  const auto zone = from.take_zone();
  if (!zone || !from.is_empty())
    return {};
  return int64_t{::timegm(&day)} * ms_per_second + *clock - *zone;
}

} // namespace

result<given_moment> parse_moment(std::string_view text) {
  using enum given_moment::kind;
  const auto typed = trimmed(text);
  auto out = given_moment{.text = std::string{typed}};
  if (const auto date = parse_date(typed)) {
    out.how = given_moment::kind::date;
    out.ms = *date;
    return out;
  }
  auto from = moment_scanner{typed};
  if (const auto at = from.take_clock(); at && from.is_empty()) {
    out.how = clock;
    out.ms = *at;
    return out;
  }
  const auto is_signed = typed.starts_with('+') || typed.starts_with('-');
  const auto by = parse_span(is_signed ? typed.substr(1) : typed,
                             std::chrono::milliseconds{0});
  if (!by)
    return bad_argument(
      in_quotes(text)
      + " is not a moment; 03:10, 2026-11-30 03:10:05, 5m (ago), +12s (after "
        "the beginning) and -2s (before the end) are");
  out.how = !is_signed               ? before_now
            : typed.starts_with('+') ? after_begin
                                     : before_end;
  out.ms = by->count();
  return out;
}

int64_t wall_ms_of(const given_moment& x, const moment_bounds& bounds) {
  using enum given_moment::kind;
  switch (x.how) {
    case after_begin:
      return bounds.begin_ms + x.ms;
    case before_end:
      return bounds.end_ms - x.ms;
    case before_now:
      return bounds.now_ms - x.ms;
    case clock: {
      const auto today = local_parts(bounds.end_ms);
      const auto out = local_ms(today, x.ms);
      return out <= bounds.end_ms ? out : local_ms(today, x.ms, -1);
    }
    case date:
      break;
  }
  return x.ms;
}

} // namespace actorrun::cli
