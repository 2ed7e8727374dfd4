// The lines that workers of the benchmark write and a reader recognises.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace actorrun::bench {

/// Length in bytes, with the line end.
inline constexpr size_t line_size = 100;

/// First character of a line; occurs nowhere else in it, nor in a label.
inline constexpr char line_mark = '@';

inline constexpr size_t rank_digits = 3;
inline constexpr size_t number_digits = 10;

/// Identifies a line and its worker.
struct line_name {
  uint32_t rank = 0;
  uint64_t number = 0;
};

namespace line_parts {

inline constexpr size_t rank_at = 1;
inline constexpr size_t number_at = rank_at + rank_digits;
inline constexpr size_t filler_at = number_at + number_digits;
inline constexpr size_t filler_size = line_size - 1 - filler_at;
inline constexpr char filler = '.';

inline void put(char* to, size_t digits, uint64_t x) {
  for (auto i = digits; i-- > 0; x /= 10)
    to[i] = char('0' + x % 10);
}

inline bool get(const char* from, size_t digits, uint64_t& x) {
  x = 0;
  for (size_t i = 0; i < digits; ++i) {
    const auto digit = unsigned(from[i]) - '0';
    if (digit > 9)
      return false;
    x = 10 * x + digit;
  }
  return true;
}

} // namespace line_parts

/// Writes `line_size` bytes.
inline void format_line(char* to, const line_name& x) {
  using namespace line_parts;
  to[0] = line_mark;
  put(to + rank_at, rank_digits, x.rank);
  put(to + number_at, number_digits, x.number);
  std::memset(to + filler_at, filler, filler_size);
  to[line_size - 1] = '\n';
}

/// @param text A line without its end and without the text before its mark.
/// @returns nothing if it has changed
inline std::optional<line_name> parse_line(std::string_view text) {
  using namespace line_parts;
  static const auto all_filler = [] {
    struct {
      char bytes[filler_size];
    } x;
    std::memset(x.bytes, filler, filler_size);
    return x;
  }();
  auto rank = uint64_t{};
  auto number = uint64_t{};
  if (text.size() != line_size - 1 || text[0] != line_mark
      || !get(text.data() + rank_at, rank_digits, rank)
      || !get(text.data() + number_at, number_digits, number)
      || std::memcmp(text.data() + filler_at, all_filler.bytes, filler_size)
           != 0)
    return std::nullopt;
  return line_name{uint32_t(rank), number};
}

} // namespace actorrun::bench
