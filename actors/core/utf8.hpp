// Takes UTF-8 apart. Calls nothing, so that a signal handler may use it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace actorrun::core {

/// What stands for bytes that are no character.
inline constexpr uint32_t utf8_replacement = 0xFFFD;

struct utf8_character {
  uint32_t code = utf8_replacement;
  size_t length = 0; ///< In bytes; 0: no character begins here.
};

/// The first character of a text: none if it is cut, overlong, half of a surrogate
/// pair or beyond U+10FFFF.
/// @pre `text` is not empty
constexpr utf8_character utf8_at(std::string_view text) {
  const auto first = static_cast<uint8_t>(text[0]);
  if (first < 0x80)
    return {first, 1};
  const auto length = first >= 0xF0 ? size_t{4} : first >= 0xE0 ? 3u : 2u;
  if (first < 0xC2 || first > 0xF4 || text.size() < length)
    return {};
  auto code = static_cast<uint32_t>(first & (0x7F >> length));
  for (size_t i = 1; i < length; ++i) {
    const auto next = static_cast<uint8_t>(text[i]);
    if ((next & 0xC0) != 0x80)
      return {};
    code = code << 6 | (next & 0x3F);
  }
  constexpr uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < least[length] || code > 0x10FFFF
      || (code >= 0xD800 && code < 0xE000))
    return {};
  return {code, length};
}

/// Whether all of it is UTF-8.
constexpr bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const auto length = utf8_at(text).length;
    if (length == 0)
      return false;
    text.remove_prefix(length);
  }
  return true;
}

} // namespace actorrun::core
