// Parses numbers, from the whole text or not at all.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace training {

/// @returns nothing if `text` is no number, has text after the number,
///          or lies outside [min, max]
template <class T>
std::optional<T> parse_number(std::string_view text, T min, T max) {
  auto value = T{};
  const auto* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  const auto in_range = value >= min && value <= max;
  if (error != std::errc{} || rest != end || !in_range)
    return std::nullopt;
  return value;
}

} // namespace training
