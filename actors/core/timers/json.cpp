#include "actors/core/timers/json.hpp"

#include "actors/core/utf8.hpp"

#include <array>

namespace actorrun::core {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// What may stand in a string as it is, but for characters beyond ASCII.
bool is_plain(char c) {
  return c >= ' ' && c != '"' && c != '\\';
}

bool is_high_surrogate(uint32_t x) {
  return x >= 0xD800 && x < 0xDC00;
}

bool is_low_surrogate(uint32_t x) {
  return x >= 0xDC00 && x < 0xE000;
}

void put_utf8(std::string& out, uint32_t x) {
  const auto tail
    = [](uint32_t bits) { return static_cast<char>(0x80 | (bits & 0x3F)); };
  if (x < 0x80)
    out += static_cast<char>(x);
  else if (x < 0x800)
    out += {static_cast<char>(0xC0 | (x >> 6)), tail(x)};
  else if (x < 0x10000)
    out += {static_cast<char>(0xE0 | (x >> 12)), tail(x >> 6), tail(x)};
  else
    out += {static_cast<char>(0xF0 | (x >> 18)), tail(x >> 12), tail(x >> 6),
            tail(x)};
}

} // namespace

bool json_cursor::at_end() {
  skip_space();
  return at_ == text_.size();
}

// A byte that no text has is said first: then the line is no JSON at all.
bool json_cursor::fail(error what) {
  if (what == error::not_json && at_ < text_.size()) {
    const auto c = text_[at_];
    const auto is_ascii = static_cast<uint8_t>(c) < 0x80;
    if (is_ascii ? c < ' ' || c == '\x7f'
                 : utf8_at(text_.substr(at_)).length == 0)
      what = error::not_text;
  }
  wrong_ = what;
  return false;
}

// -- strings ------------------------------------------------------------------

bool json_cursor::read_string(std::string* out) {
  if (!take('"'))
    return false;
  while (read_plain(out) && at_ < text_.size()) {
    if (text_[at_] == '"') {
      ++at_;
      return true;
    }
    if (text_[at_] != '\\' || !read_escape(out))
      return wrong_ == error::none ? fail() : false;
  }
  return wrong_ == error::none ? fail() : false;
}

// Reads up to what is special in a string.
bool json_cursor::read_plain(std::string* out) {
  const auto start = at_;
  while (at_ < text_.size()) {
    if (is_plain(text_[at_])) {
      ++at_;
    } else if (static_cast<uint8_t>(text_[at_]) >= 0x80) {
      const auto length = utf8_at(text_.substr(at_)).length;
      if (length == 0)
        return fail(error::not_text);
      at_ += length;
    } else {
      break;
    }
  }
  if (out)
    out->append(text_, start, at_ - start);
  return true;
}

bool json_cursor::read_escape(std::string* out) {
  static constexpr auto names = std::string_view{"\"\\/bfnrt"};
  static constexpr auto meant = std::string_view{"\"\\/\b\f\n\r\t"};
  ++at_;
  if (at_ == text_.size())
    return fail();
  const auto c = text_[at_];
  if (c == 'u')
    return read_unicode(out);
  const auto i = names.find(c);
  if (i == names.npos)
    return fail();
  ++at_;
  if (out)
    *out += meant[i];
  return true;
}

bool json_cursor::read_unicode(std::string* out) {
  auto x = read_hex();
  if (!x)
    return fail();
  if (is_high_surrogate(*x) && text_.substr(at_).starts_with("\\u")) {
    const auto back = at_;
    ++at_;
    const auto low = read_hex();
    if (!low)
      return fail();
    if (is_low_surrogate(*low))
      x = 0x10000 + ((*x - 0xD800) << 10) + (*low - 0xDC00);
    else
      at_ = back;
  }
  if (out) {
    const auto is_half = is_high_surrogate(*x) || is_low_surrogate(*x);
    put_utf8(*out, is_half ? utf8_replacement : *x);
  }
  return true;
}

// Reads `u` and four digits.
std::optional<uint32_t> json_cursor::read_hex() {
  uint32_t value = 0;
  for (++at_; const auto c : text_.substr(at_, 4)) {
    const auto letter = static_cast<char>(c | 0x20);
    const auto is_letter = letter >= 'a' && letter <= 'f';
    if (!is_digit(c) && !is_letter)
      return std::nullopt;
    value = value * 16
            + static_cast<uint32_t>(is_letter ? letter - 'a' + 10 : c - '0');
  }
  if (text_.size() - at_ < 4)
    return std::nullopt;
  at_ += 4;
  return value;
}

// -- numbers ------------------------------------------------------------------

std::optional<std::string_view> json_cursor::read_number() {
  skip_space();
  const auto start = at_;
  const auto is_negative = sees('-');
  at_ += is_negative;
  const auto is_word = at_ < text_.size() && !is_digit(text_[at_]);
  if (is_word && (take_word("Infinity") || (!is_negative && take_word("NaN"))))
    return text_.substr(start, at_ - start);
  const auto is_zero = at_ < text_.size() && text_[at_] == '0';
  if (is_zero)
    ++at_;
  else if (!skip_digits())
    return std::nullopt;
  if (at_ < text_.size() && text_[at_] == '.') {
    ++at_;
    if (!skip_digits())
      return std::nullopt;
  }
  if (at_ < text_.size() && (text_[at_] | 0x20) == 'e') {
    ++at_;
    if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-'))
      ++at_;
    if (!skip_digits())
      return std::nullopt;
  }
  return text_.substr(start, at_ - start);
}

bool json_cursor::skip_digits() {
  const auto start = at_;
  while (at_ < text_.size() && is_digit(text_[at_]))
    ++at_;
  return at_ > start ? true : fail();
}

bool json_cursor::take_word(std::string_view word) {
  if (!text_.substr(at_).starts_with(word))
    return false;
  at_ += word.size();
  return true;
}

// -- values of any kind -------------------------------------------------------

// Not recursive: the input must not decide how deep the stack is.
bool json_cursor::skip_value() {
  auto closing = std::array<char, depth_max>{};
  uint32_t depth = 0;
  while (true) {
    const auto is_object = sees('{');
    if (!is_object && !sees('[')) {
      if (!skip_scalar())
        return false;
    } else if (depth == depth_max) {
      return fail(error::too_deep);
    } else {
      ++at_;
      closing[depth++] = is_object ? '}' : ']';
      if (!sees(closing[depth - 1])) {
        if (is_object && !skip_key())
          return false;
        continue;
      }
    }
    while (depth > 0 && sees(closing[depth - 1])) {
      ++at_;
      --depth;
    }
    if (depth == 0)
      return true;
    if (!take(','))
      return false;
    if (closing[depth - 1] == '}' && !skip_key())
      return false;
  }
}

bool json_cursor::skip_key() {
  return read_string(nullptr) && take(':');
}

bool json_cursor::skip_scalar() {
  if (sees('"'))
    return read_string(nullptr);
  if (take_word("true") || take_word("false") || take_word("null"))
    return true;
  return read_number().has_value();
}

} // namespace actorrun::core
