#include "actors/core/logs/terminal_line.hpp"

#include <cstddef>
#include <cstdint>

namespace actorrun::core {

namespace {

constexpr auto replacement = std::string_view{"\xef\xbf\xbd"}; // U+FFFD

/// Longest sequence that is passed on, in bytes.
constexpr auto colour_max = size_t{32};

/// Bytes of a colour sequence at the front; 0: there is none.
size_t colour_size(std::string_view text) {
  if (!text.starts_with("\x1b["))
    return 0;
  const auto end = text.find_first_not_of("0123456789;:", 2);
  return end == text.npos || end >= colour_max || text[end] != 'm' ? 0
                                                                   : end + 1;
}

/// Bytes of a character of UTF-8 at the front that is no control character; 0:
/// there is none.
size_t character_size(std::string_view text) {
  const auto first = static_cast<uint8_t>(text[0]);
  const auto size = first < 0x80                    ? size_t{1}
                    : first >= 0xc2 && first < 0xe0 ? size_t{2}
                    : first >= 0xe0 && first < 0xf0 ? size_t{3}
                    : first >= 0xf0 && first < 0xf5 ? size_t{4}
                                                    : size_t{0};
  if (size == 0 || text.size() < size)
    return 0;
  auto code = size == 1 ? uint32_t{first} : first & (0x7fU >> size);
  for (size_t i = 1; i < size; ++i) {
    const auto next = static_cast<uint8_t>(text[i]);
    if ((next & 0xc0) != 0x80)
      return 0;
    code = (code << 6) | (next & 0x3f);
  }
  const auto is_long
    = (size == 3 && code < 0x800) || (size == 4 && code < 0x10000);
  const auto is_control = code < 0x20 || (code >= 0x7f && code < 0xa0);
  const auto is_surrogate = code >= 0xd800 && code < 0xe000;
  // Marks that turn the direction of text around hide what a line says.
  const auto is_turn
    = (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
  return is_long || is_control || is_surrogate || is_turn || code > 0x10ffff
           ? 0
           : size;
}

} // namespace

std::string terminal_line(std::string_view line) {
  auto out = std::string{};
  out.reserve(line.size());
  auto has_colour = false;
  while (!line.empty()) {
    const auto c = static_cast<uint8_t>(line[0]);
    auto size = colour_size(line);
    if (size > 0) {
      has_colour = true;
      out += line.substr(0, size);
    } else if (c == '\t' || (size = character_size(line)) > 0) {
      size = size == 0 ? 1 : size;
      out += line.substr(0, size);
    } else {
      size = 1;
      if (c < 0x20 || c == 0x7f) {
        out += '^';
        out += static_cast<char>(c ^ 0x40);
      } else {
        out += replacement;
      }
    }
    line.remove_prefix(size);
  }
  if (has_colour)
    out += "\x1b[0m";
  return out;
}

} // namespace actorrun::core
