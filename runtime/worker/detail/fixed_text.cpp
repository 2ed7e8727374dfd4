#include "runtime/worker/detail/fixed_text.hpp"

#include "actors/core/utf8.hpp"

#include <algorithm>

namespace actorrun::recording {

namespace {

constexpr auto hex_digits = "0123456789abcdef";

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
    const auto [code, length] = core::utf8_at(text);
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
    text.remove_prefix(std::max(length, size_t{1}));
  }
  return *this;
}

std::string_view end_of(std::string_view text, size_t limit) {
  return text.substr(text.size() - std::min(text.size(), limit));
}

} // namespace actorrun::recording
