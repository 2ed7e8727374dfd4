#include "actors/core/vitals/kernel_text.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

namespace actorrun::core {

namespace {

/// Takes a number from the front of a text; nothing if there is none. What is too
/// large is the largest number.
std::optional<uint64_t> take_number(std::string_view& text) {
  auto out = uint64_t{0};
  const auto [end, error]
    = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error == std::errc::invalid_argument)
    return std::nullopt;
  if (error == std::errc::result_out_of_range)
    out = std::numeric_limits<uint64_t>::max();
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return out;
}

void skip_blanks(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
}

/// Takes `12.34 ` and returns 1234. The kernel writes two places.
std::optional<uint32_t> take_hundredths(std::string_view& text) {
  skip_blanks(text);
  const auto whole = take_number(text);
  if (!whole || text.size() < 4 || text[0] != '.' || text[3] != ' ')
    return std::nullopt;
  auto part = text.substr(1, 2);
  const auto hundredths = take_number(part);
  if (!hundredths || !part.empty())
    return std::nullopt;
  text.remove_prefix(3);
  constexpr auto max = uint64_t{std::numeric_limits<uint32_t>::max()};
  if (*whole > max / 100 - 1)
    return static_cast<uint32_t>(max);
  return static_cast<uint32_t>(*whole * 100 + *hundredths);
}

/// The number in the line `<name>: <number> kB`, in bytes.
std::optional<uint64_t> bytes_in(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const auto end = text.find('\n');
    if (end == text.npos)
      return std::nullopt; // The line may be cut off.
    auto line = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (!line.starts_with(name))
      continue;
    line.remove_prefix(name.size());
    skip_blanks(line);
    const auto number = take_number(line);
    constexpr auto max = std::numeric_limits<uint64_t>::max() / 1'024;
    if (!number || line != " kB" || *number > max)
      return std::nullopt;
    return *number * 1'024;
  }
  return std::nullopt;
}

} // namespace

std::optional<node_load> parse_load(std::string_view text) {
  const auto one = take_hundredths(text);
  const auto five = one ? take_hundredths(text) : std::nullopt;
  const auto fifteen = five ? take_hundredths(text) : std::nullopt;
  if (!fifteen)
    return std::nullopt;
  return node_load{*one, *five, *fifteen};
}

std::optional<node_memory> parse_memory(std::string_view text) {
  const auto total = bytes_in(text, "MemTotal:");
  const auto available = bytes_in(text, "MemAvailable:");
  if (!total || !available)
    return std::nullopt;
  return node_memory{*total, *available};
}

std::vector<int64_t> parse_pids(std::string_view text, size_t count_max) {
  auto out = std::vector<int64_t>{};
  while (out.size() < count_max) {
    skip_blanks(text);
    const auto pid = take_number(text);
    constexpr auto max = uint64_t{std::numeric_limits<int32_t>::max()};
    if (!pid || *pid == 0 || *pid > max)
      break;
    out.push_back(static_cast<int64_t>(*pid));
  }
  return out;
}

} // namespace actorrun::core
