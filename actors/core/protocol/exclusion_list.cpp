#include "actors/core/protocol/exclusion_list.hpp"

#include "actors/core/failure.hpp"
#include "actors/core/text.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>
#include <utility>

namespace actorrun::core {

namespace {

constexpr auto time_form = std::string_view{"0000-00-00T00:00:00Z"};

/// Whether it has digits where the form has them, and otherwise the same.
bool has_form(std::string_view text) {
  return std::ranges::equal(text, time_form, [](char x, char y) {
    return y == '0' ? x >= '0' && x <= '9' : x == y;
  });
}

std::optional<int64_t> parse_utc(std::string_view text) {
  if (!has_form(text))
    return std::nullopt;
  const auto number = [&](size_t at, size_t size) {
    auto out = 0;
    std::from_chars(text.data() + at, text.data() + at + size, out);
    return out;
  };
  const auto date = std::chrono::year{number(0, 4)}
                    / std::chrono::month(number(5, 2))
                    / std::chrono::day(number(8, 2));
  const auto hours = number(11, 2);
  const auto minutes = number(14, 2);
  const auto seconds = number(17, 2);
  if (!date.ok() || hours > 23 || minutes > 59 || seconds > 59)
    return std::nullopt;
  const auto days = std::chrono::sys_days{date}.time_since_epoch();
  return int64_t{days.count()} * 86'400 + hours * 3'600 + minutes * 60
         + seconds;
}

std::string padded(unsigned x, size_t width) {
  auto out = std::to_string(x);
  return std::string(width - std::min(width, out.size()), '0') + out;
}

std::string line_of(const listed_host& x) {
  return x.host + ' ' + utc_text(x.unix_seconds)
         + (x.reason.empty() ? "" : ' ' + x.reason) + '\n';
}

bool says_nothing(std::string_view line) {
  return line.starts_with('#')
         || line.find_first_not_of(" \t\r") == std::string_view::npos;
}

failure broken(size_t number, const std::string& why) {
  return {errc::bad_argument,
          "line " + std::to_string(number) + " " + why
            + "; a line is HOST TIME REASON, as in: n2 2026-11-30T04:10:11Z"
              " bad disk"};
}

result<listed_host> parse_line(std::string_view line, size_t number) {
  if (line.size() > exclusion_line_size_max)
    return broken(number, "is longer than "
                            + std::to_string(exclusion_line_size_max)
                            + " bytes");
  auto rest = line;
  auto out = listed_host{.host = std::string{take_until(rest, ' ')}};
  if (!is_host_text(out.host))
    return broken(number, "begins with no name of a host");
  const auto when = parse_utc(take_until(rest, ' '));
  if (!when)
    return broken(number, "has no time behind the host");
  out.unix_seconds = *when;
  out.reason = one_line(rest, exclusion_line_size_max);
  return out;
}

} // namespace

result<std::vector<listed_host>> parse_exclusion_list(std::string_view text) {
  if (text.size() > exclusion_list_size_max)
    return failure{errc::bad_argument,
                   "it is longer than "
                     + std::to_string(exclusion_list_size_max) + " bytes"};
  auto out = std::vector<listed_host>{};
  for (auto number = size_t{1}; !text.empty(); ++number) {
    const auto line = take_until(text, '\n');
    if (says_nothing(line))
      continue;
    auto x = parse_line(line, number);
    if (!x)
      return x.error();
    if (std::ranges::find(out, x->host, &listed_host::host) == out.end())
      out.push_back(*std::move(x));
  }
  if (out.size() > excluded_hosts_max)
    return failure{errc::bad_argument, "it names " + std::to_string(out.size())
                                         + " hosts; a job takes "
                                         + std::to_string(excluded_hosts_max)
                                         + " at most"};
  return out;
}

result<std::string> with_host(std::string text, const listed_host& x) {
  const auto known = parse_exclusion_list(text);
  if (!known)
    return known.error();
  if (std::ranges::find(*known, x.host, &listed_host::host) != known->end())
    return text;
  if (!text.empty() && !text.ends_with('\n'))
    text += '\n';
  text += line_of(x);
  const auto now = parse_exclusion_list(text);
  return now ? result<std::string>{std::move(text)} : now.error();
}

result<std::string> without_host(std::string_view text, std::string_view host) {
  if (const auto known = parse_exclusion_list(text); !known)
    return known.error();
  auto out = std::string{};
  while (!text.empty()) {
    const auto line = take_until(text, '\n');
    auto rest = line;
    if (says_nothing(line) || take_until(rest, ' ') != host)
      out.append(line).append("\n");
  }
  return out;
}

excluded_host to_excluded(const listed_host& x) {
  return {.host = x.host,
          .reason = (x.reason.empty() ? "" : x.reason + ", ")
                    + std::string{"since "} + utc_text(x.unix_seconds),
          .by = "--exclude-file"};
}

listed_host to_listed(const excluded_host& x, int64_t unix_seconds) {
  constexpr auto reason_size_max = size_t{512};
  const auto separator = x.by.empty() || x.reason.empty() ? "" : ": ";
  return {.host = x.host,
          .unix_seconds = unix_seconds,
          .reason = one_line(x.by + separator + x.reason, reason_size_max)};
}

std::string utc_text(int64_t unix_seconds) {
  using namespace std::chrono;
  const auto when = sys_seconds{seconds{unix_seconds}};
  const auto day = floor<days>(when);
  const auto date = year_month_day{day};
  const auto time = hh_mm_ss{when - day};
  return padded(unsigned(int(date.year())), 4) + '-'
         + padded(unsigned(date.month()), 2) + '-'
         + padded(unsigned(date.day()), 2) + 'T'
         + padded(unsigned(time.hours().count()), 2) + ':'
         + padded(unsigned(time.minutes().count()), 2) + ':'
         + padded(unsigned(time.seconds().count()), 2) + 'Z';
}

} // namespace actorrun::core
