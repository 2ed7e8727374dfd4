#include "runtime/worker/detail/json_reader.hpp"

#include <algorithm>
#include <charconv>

namespace actorrun::worker {

namespace {

constexpr uint32_t replacement = 0xFFFD;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Bytes of the character that begins here; 0: none does.
size_t character_length(std::string_view text) {
  const auto first = static_cast<uint8_t>(text[0]);
  if (first < 0x80)
    return 1;
  const auto length = first >= 0xF0 ? size_t{4} : first >= 0xE0 ? 3u : 2u;
  if (first < 0xC2 || first > 0xF4 || text.size() < length)
    return 0;
  const auto second = static_cast<uint8_t>(text[1]);
  const auto least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const auto most = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (second < least || second > most)
    return 0;
  for (size_t i = 2; i < length; ++i)
    if ((static_cast<uint8_t>(text[i]) & 0xC0) != 0x80)
      return 0;
  return length;
}

void append_utf8(std::string& out, uint32_t x) {
  const auto put = [&](uint32_t byte) { out += static_cast<char>(byte); };
  if (x < 0x80) {
    put(x);
  } else if (x < 0x800) {
    put(0xC0 | x >> 6);
    put(0x80 | (x & 0x3F));
  } else if (x < 0x10000) {
    put(0xE0 | x >> 12);
    put(0x80 | (x >> 6 & 0x3F));
    put(0x80 | (x & 0x3F));
  } else {
    put(0xF0 | x >> 18);
    put(0x80 | (x >> 12 & 0x3F));
    put(0x80 | (x >> 6 & 0x3F));
    put(0x80 | (x & 0x3F));
  }
}

/// Reads from the beginning of what is left. Each function returns false when the
/// text is not JSON; then the rest is of no use.
class json_parser {
public:
  explicit json_parser(std::string_view text) : rest_(text) {}

  bool value(json_value& out, int depth) {
    skip_blanks();
    if (rest_.empty() || depth > json_depth_max)
      return false;
    switch (rest_[0]) {
      case '{':
        return object(out, depth);
      case '[':
        return array(out, depth);
      case '"':
        out.is = json_value::kind::text;
        return text(out.text);
      case 't':
        return word(out, "true", json_value::kind::boolean);
      case 'f':
        return word(out, "false", json_value::kind::boolean);
      case 'n':
        return word(out, "null", json_value::kind::null);
      default:
        return number(out);
    }
  }

  bool is_at_end() {
    skip_blanks();
    return rest_.empty();
  }

private:
  void skip_blanks() {
    rest_.remove_prefix(
      std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
  }

  bool take(char c) {
    if (!rest_.starts_with(c))
      return false;
    rest_.remove_prefix(1);
    return true;
  }

  bool take_after_blanks(char c) {
    skip_blanks();
    return take(c);
  }

  bool word(json_value& out, std::string_view expected, json_value::kind is) {
    if (!rest_.starts_with(expected))
      return false;
    rest_.remove_prefix(expected.size());
    out.is = is;
    out.text = expected;
    return true;
  }

  bool object(json_value& out, int depth) {
    out.is = json_value::kind::object;
    take('{');
    if (take_after_blanks('}'))
      return true;
    do {
      auto& [name, member] = out.members.emplace_back();
      skip_blanks();
      if (!text(name) || !take_after_blanks(':') || !value(member, depth + 1))
        return false;
    } while (take_after_blanks(','));
    return take('}');
  }

  bool array(json_value& out, int depth) {
    out.is = json_value::kind::array;
    take('[');
    if (take_after_blanks(']'))
      return true;
    do {
      if (!value(out.items.emplace_back(), depth + 1))
        return false;
    } while (take_after_blanks(','));
    return take(']');
  }

  bool digits() {
    const auto count
      = std::find_if_not(rest_.begin(), rest_.end(), is_digit) - rest_.begin();
    rest_.remove_prefix(static_cast<size_t>(count));
    return count > 0;
  }

  bool number(json_value& out) {
    const auto whole = rest_;
    take('-');
    if (!take('0') && !digits())
      return false;
    if (take('.') && !digits())
      return false;
    if (take('e') || take('E')) {
      if (!take('+'))
        take('-');
      if (!digits())
        return false;
    }
    out.is = json_value::kind::number;
    out.text = whole.substr(0, whole.size() - rest_.size());
    return true;
  }

  bool text(std::string& out) {
    if (!take('"'))
      return false;
    while (!take('"')) {
      if (rest_.empty() || static_cast<uint8_t>(rest_[0]) < 0x20)
        return false;
      if (take('\\')) {
        if (!escaped(out))
          return false;
        continue;
      }
      const auto length = character_length(rest_);
      if (length == 0)
        return false;
      out += rest_.substr(0, length);
      rest_.remove_prefix(length);
    }
    return true;
  }

  bool escaped(std::string& out) {
    constexpr auto names = std::string_view{"\"\\/bfnrt"};
    constexpr auto meanings = std::string_view{"\"\\/\b\f\n\r\t"};
    if (rest_.empty())
      return false;
    if (const auto i = names.find(rest_[0]); i != names.npos) {
      out += meanings[i];
      rest_.remove_prefix(1);
      return true;
    }
    auto code = uint32_t{0};
    if (!unit(code))
      return false;
    if (code >= 0xD800 && code < 0xDC00 && rest_.starts_with("\\u")) {
      const auto before = rest_;
      auto low = uint32_t{0};
      rest_.remove_prefix(1);
      if (!unit(low))
        return false;
      if (low >= 0xDC00 && low < 0xE000)
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
      else
        rest_ = before;
    }
    const auto is_half = code >= 0xD800 && code < 0xE000;
    append_utf8(out, is_half ? replacement : code);
    return true;
  }

  // `u` and four digits.
  bool unit(uint32_t& out) {
    constexpr auto size = size_t{4};
    if (!take('u') || rest_.size() < size)
      return false;
    const auto* end = rest_.data() + size;
    const auto done = std::from_chars(rest_.data(), end, out, 16);
    rest_.remove_prefix(size);
    return done.ec == std::errc{} && done.ptr == end;
  }

  std::string_view rest_;
};

} // namespace

const json_value* json_value::find(std::string_view name) const {
  for (auto i = members.rbegin(); i != members.rend(); ++i)
    if (i->first == name)
      return &i->second;
  return nullptr;
}

std::optional<uint64_t> json_value::as_number() const {
  auto out = uint64_t{0};
  const auto* end = text.data() + text.size();
  if (is != kind::number)
    return std::nullopt;
  const auto done = std::from_chars(text.data(), end, out);
  if (done.ec != std::errc{} || done.ptr != end)
    return std::nullopt;
  return out;
}

std::optional<json_value> parse_json(std::string_view text) {
  auto out = json_value{};
  auto parser = json_parser{text};
  if (!parser.value(out, 1) || !parser.is_at_end())
    return std::nullopt;
  return out;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const auto length = character_length(text);
    if (length == 0)
      return false;
    text.remove_prefix(length);
  }
  return true;
}

void append_json(std::string& out, std::string_view text) {
  constexpr auto digits = "0123456789abcdef";
  out += '"';
  while (!text.empty()) {
    const auto c = text[0];
    const auto length = character_length(text);
    if (c == '"' || c == '\\')
      out += {'\\', c};
    else if (length == 1 && static_cast<uint8_t>(c) < 0x20)
      out += {'\\', 'u', '0', '0', digits[c >> 4], digits[c & 15]};
    else if (length == 0)
      out += '?';
    else
      out += text.substr(0, length);
    text.remove_prefix(std::max(length, size_t{1}));
  }
  out += '"';
}

} // namespace actorrun::worker
