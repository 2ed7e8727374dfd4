#include "runtime/worker/detail/fixed_text.hpp"

#include <algorithm>

namespace actorrun::recording {

namespace {

constexpr auto hex_digits = "0123456789abcdef";
constexpr auto replacement = 0xFFFDu;

struct character {
  unsigned code = replacement;
  size_t length = 1;
};

// The first character of a text. What is cut, overlong, half of a pair or too
// large counts byte by byte.
character decode(std::string_view text) {
  const auto first = static_cast<uint8_t>(text[0]);
  if (first < 0x80)
    return {first, 1};
  const auto length = first >= 0xF0 ? size_t{4} : first >= 0xE0 ? 3u : 2u;
  if (first < 0xC2 || first > 0xF4 || text.size() < length)
    return {};
  auto code = first & (0xFFu >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    const auto next = static_cast<uint8_t>(text[i]);
    if ((next & 0xC0) != 0x80)
      return {};
    code = code << 6 | (next & 0x3F);
  }
  constexpr unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < least[length] || code > 0x10FFFF
      || (code >= 0xD800 && code < 0xE000))
    return {};
  return {code, length};
}

/// The letter behind the backslash, for those that have one.
char short_escape(unsigned code) {
  switch (code) {
    case '"':
    case '\\':
      return static_cast<char>(code);
    case '\b':
      return 'b';
    case '\f':
      return 'f';
    case '\n':
      return 'n';
    case '\r':
      return 'r';
    case '\t':
      return 't';
    default:
      return 0;
  }
}

} // namespace

fixed_text& fixed_text::put(std::string_view text) {
  const auto n = std::min(text.size(), capacity_ - size_);
  std::copy_n(text.data(), n, buffer_ + size_);
  size_ += n;
  return *this;
}

fixed_text& fixed_text::put_number(uint64_t value) {
  char digits[20];
  auto* first = std::end(digits);
  do
    *--first = static_cast<char>('0' + value % 10);
  while ((value /= 10) != 0);
  return put({first, static_cast<size_t>(std::end(digits) - first)});
}

fixed_text& fixed_text::put_hex(uint64_t value) {
  char digits[16];
  auto* first = std::end(digits);
  do
    *--first = hex_digits[value % 16];
  while ((value /= 16) != 0);
  put("0x");
  return put({first, static_cast<size_t>(std::end(digits) - first)});
}

void fixed_text::put_unit(unsigned unit) {
  const char escape[] = {'\\',
                         'u',
                         hex_digits[unit >> 12],
                         hex_digits[unit >> 8 & 15],
                         hex_digits[unit >> 4 & 15],
                         hex_digits[unit & 15]};
  put({escape, sizeof escape});
}

fixed_text& fixed_text::put_json(std::string_view text) {
  while (!text.empty()) {
    const auto [code, length] = decode(text);
    if (const auto letter = short_escape(code); letter != 0) {
      const char escape[] = {'\\', letter};
      put({escape, sizeof escape});
    } else if (code >= ' ' && code <= '~') {
      put(text.substr(0, 1));
    } else if (code < 0x10000) {
      put_unit(code);
    } else {
      put_unit(0xD800 + ((code - 0x10000) >> 10));
      put_unit(0xDC00 + ((code - 0x10000) & 0x3FF));
    }
    text.remove_prefix(length);
  }
  return *this;
}

std::string_view end_of(std::string_view text, size_t limit) {
  return text.substr(text.size() - std::min(text.size(), limit));
}

} // namespace actorrun::recording
