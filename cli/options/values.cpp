#include "cli/options/values.hpp"

#include "actors/core/protocol/rank_assignment.hpp"
#include "actors/core/text.hpp"
#include "messages/formatted.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>
#include <ratio>
#include <utility>
#include <vector>

namespace actorrun::cli {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// A whole text as a number, as Python's int() and float() read it but for
/// underscores.
template <class Number, class... Format>
std::optional<Number> number(std::string_view text, Format... format) {
  text = trimmed(text);
  if (text.starts_with('+') && !text.starts_with("+-"))
    text.remove_prefix(1);
  auto x = Number{};
  const auto* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, x, format...);
  if (error != std::errc{} || stop != end)
    return std::nullopt;
  return x;
}

result<uint16_t> parse_port(std::string_view text) {
  constexpr size_t digits_max = 5;
  if (text.empty())
    return bad_argument("the port is missing behind the colon; maybe a variable"
                        " of the shell is not set");
  const auto all_digits = std::all_of(
    text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  const auto x = number<uint32_t>(text);
  if (!all_digits || text.size() > digits_max || !x || *x > UINT16_MAX)
    return bad_argument(
      formatted("the port {} is not an integer in 0..65535", in_quotes(text)));
  return static_cast<uint16_t>(*x);
}

std::string bound_text(milliseconds x) {
  using days = std::chrono::duration<int64_t, std::ratio<86'400>>;
  using std::chrono::seconds;
  if (x == milliseconds{0} || x % seconds{1} != milliseconds{0})
    return formatted("{}ms", x.count());
  if (x % days{1} != milliseconds{0})
    return formatted("{}s", std::chrono::duration_cast<seconds>(x).count());
  const auto count = std::chrono::duration_cast<days>(x).count();
  return formatted("{} {}", count, count == 1 ? "day" : "days");
}

/// What may have been meant by a host that is none.
std::string hint_for(std::string_view host) {
  const auto is_number = std::all_of(
    host.begin(), host.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (is_number)
    return formatted("; a port stands behind a host: node1:{}", host);
  if (const auto at = host.find('@'); at != host.npos)
    return formatted("; without a user's name it is {}", host.substr(at + 1));
  return {};
}

/// Where the host ends in `host:port`; npos if there is no port.
size_t port_separator(std::string_view text) {
  if (text.starts_with('[') && text.ends_with(']'))
    return text.npos;
  return text.rfind(':');
}

} // namespace

std::string in_quotes(std::string_view text) {
  return formatted("\"{}\"", text);
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view white = " \t\r\n\f\v";
  const auto first = text.find_first_not_of(white);
  if (first == text.npos)
    return {};
  return text.substr(first, text.find_last_not_of(white) - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  for (;;) {
    const auto i = text.find(separator);
    out.push_back(text.substr(0, i));
    if (i == text.npos)
      return out;
    text.remove_prefix(i + 1);
  }
}

std::string joined_with(const std::vector<std::string>& parts,
                        std::string_view separator) {
  auto out = std::string{};
  for (const auto& x : parts)
    (out += out.empty() ? "" : separator) += x;
  return out;
}

result<uint32_t> parse_count(std::string_view text, uint32_t min,
                             uint32_t max) {
  const auto x = number<int64_t>(text);
  const auto range = formatted("{}..{}", min, max);
  if (!x)
    return bad_argument(
      formatted("{} is not an integer in {}", in_quotes(text), range));
  if (*x < min || *x > max)
    return bad_argument(formatted("{} is not in {}", in_quotes(text), range));
  return static_cast<uint32_t>(*x);
}

result<std::string> parse_file_name(const std::string& text) {
  if (text.empty())
    return bad_argument("no file is named");
  return text;
}

result<std::string> parse_text(const std::string& text) {
  if (text.size() > text_size_max)
    return bad_argument(formatted("the text has {} bytes, and may have {}",
                                  text.size(), text_size_max));
  if (!core::is_utf8(text))
    return bad_argument(in_quotes(text) + " is not valid UTF-8");
  return text;
}

result<double> parse_positive(std::string_view text) {
  const auto x = number<double>(text);
  if (!x || !std::isfinite(*x) || *x <= 0)
    return bad_argument(in_quotes(text) + " is not a number above 0");
  return *x;
}

result<bool> parse_bool_word(std::string_view text) {
  const auto word = core::lowered(trimmed(text));
  for (const auto* yes : {"1", "true", "t", "yes", "y"})
    if (word == yes)
      return true;
  for (const auto* no : {"0", "false", "f", "no", "n"})
    if (word == no)
      return false;
  return bad_argument(in_quotes(text) + " is neither yes nor no");
}

result<bool> parse_flag_variable(std::string_view text) {
  if (text.empty())
    return false;
  if (const auto x = number<int64_t>(text))
    return *x != 0;
  return bad_argument(in_quotes(text)
                      + " is not an integer; 1 is on, 0 is off");
}

result<milliseconds> parse_span(std::string_view text, milliseconds min,
                                milliseconds max) {
  auto digits = trimmed(text);
  auto factor = 1'000.0;
  const std::pair<std::string_view, double> units[] = {{"ms", 1.0},
                                                       {"s", 1'000.0},
                                                       {"m", 60'000.0},
                                                       {"h", 3'600'000.0},
                                                       {"d", 86'400'000.0}};
  for (const auto& [unit, in_ms] : units) {
    if (!digits.ends_with(unit))
      continue;
    factor = in_ms;
    digits.remove_suffix(unit.size());
    break;
  }
  const auto x = number<double>(digits, std::chars_format::fixed);
  if (!x || !std::isfinite(*x))
    return bad_argument(
      in_quotes(text)
      + " is not a time; 30, 0.5, 300ms, 30s, 5m, 2h and 1d are");
  const auto ms = *x * factor;
  if (ms < static_cast<double>(min.count())
      || ms > static_cast<double>(max.count()))
    return bad_argument(formatted("{} is not between {} and {}",
                                  in_quotes(text), bound_text(min),
                                  bound_text(max)));
  return milliseconds{std::llround(ms)};
}

result<milliseconds> parse_whole_seconds(std::string_view text) {
  constexpr auto max = std::chrono::duration_cast<seconds>(timeout_max).count();
  auto x = parse_count(text, 0, static_cast<uint32_t>(max));
  if (!x)
    return bad_argument(x.error().text + " (seconds)");
  return milliseconds{seconds{*x}};
}

result<std::string> parse_log_level(std::string_view text) {
  static constexpr std::pair<std::string_view, std::string_view> levels[]
    = {{"debug", "DEBUG"},
       {"info", "INFO"},
       {"warning", "WARNING"},
       {"error", "ERROR"},
       {"critical", "CRITICAL"}};
  const auto level = value_of(core::lowered(text), levels);
  if (!level)
    return bad_argument(in_quotes(text)
                        + " is no level; debug, info, warning, error and"
                          " critical are");
  return std::string{*level};
}

result<node_range> parse_node_range(std::string_view text) {
  const auto parts = split(text, ':');
  if (parts.size() > 2)
    return bad_argument(in_quotes(text) + " is neither N nor MIN:MAX");
  auto bounds = std::vector<uint32_t>{};
  for (const auto part : parts) {
    auto x = parse_count(part, 1, core::agents_per_generation_max);
    if (!x)
      return parts.size() == 1 ? x.error()
                               : bad_argument(formatted(
                                 "in {}, {}", in_quotes(text), x.error().text));
    bounds.push_back(*x);
  }
  if (bounds.front() > bounds.back())
    return bad_argument(
      formatted("in {}, the minimum is above the maximum", in_quotes(text)));
  return node_range{bounds.front(), bounds.back()};
}

result<endpoint> parse_endpoint(std::string_view text, uint16_t default_port) {
  text = trimmed(text);
  if (const auto scheme = text.find("://"); scheme != text.npos)
    return bad_argument(
      formatted("{} begins with a protocol; HOST[:PORT] is wanted: {}",
                in_quotes(text), text.substr(scheme + 3)));
  auto out = endpoint{.host = {}, .port = default_port};
  const auto separator = port_separator(text);
  auto host = text.substr(0, separator);
  if (separator != text.npos) {
    auto port = parse_port(text.substr(separator + 1));
    if (!port)
      return bad_argument(
        formatted("in {}, {}", in_quotes(text), port.error().text));
    out.port = *port;
  }
  const auto bracketed
    = host.size() > 2 && host.starts_with('[') && host.ends_with(']');
  if (bracketed)
    host = host.substr(1, host.size() - 2);
  else if (host.find(':') != host.npos)
    return bad_argument(formatted(
      "{} has several colons; an IPv6 address stands in brackets: [::1]:29400",
      in_quotes(text)));
  out.host = host;
  if (host.empty() || is_host(host))
    return out;
  return bad_argument(
    formatted("{}{} is neither a host name nor an IP address{}",
              out.host == text ? "" : formatted("in {}, ", in_quotes(text)),
              in_quotes(out.host), hint_for(host)));
}

result<std::vector<endpoint>> parse_endpoints(std::string_view text,
                                              uint16_t default_port) {
  auto out = std::vector<endpoint>{};
  for (const auto part : split(text, ',')) {
    if (trimmed(part).empty())
      return bad_argument(
        formatted("in {}, an address is missing", in_quotes(text)));
    auto x = parse_endpoint(part, default_port);
    if (!x)
      return x.error();
    out.push_back(std::move(*x));
  }
  return out;
}

} // namespace actorrun::cli
