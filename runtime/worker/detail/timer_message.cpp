#include "runtime/worker/detail/timer_message.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>

namespace actorrun::worker {

namespace {

constexpr int64_t nanoseconds_per_second = 1'000'000'000;
constexpr uint32_t replacement = 0xFFFD;

/// Appends to a place of fixed size; what is too much makes all of it void.
class line_writer {
public:
  explicit line_writer(message_buffer& place) : place_(place) {}

  void put(std::string_view text) {
    if (text.size() > place_.size() - size_) {
      is_full_ = true;
      return;
    }
    text.copy(place_.data() + size_, text.size());
    size_ += text.size();
  }

  void put(int64_t number) {
    auto digits = std::array<char, 20>{};
    const auto end = std::to_chars(digits.begin(), digits.end(), number).ptr;
    put({digits.data(), static_cast<size_t>(end - digits.data())});
  }

  // Seconds with nine decimals.
  void put_seconds(int64_t nanoseconds) {
    put(nanoseconds / nanoseconds_per_second);
    auto digits = std::array<char, 10>{'.'};
    auto rest = nanoseconds % nanoseconds_per_second;
    for (auto i = digits.size(); i-- > 1; rest /= 10)
      digits[i] = static_cast<char>('0' + rest % 10);
    put({digits.data(), digits.size()});
  }

  void put_escaped(std::string_view text);

  std::string_view result() const {
    return is_full_ ? std::string_view{}
                    : std::string_view{place_.data(), size_};
  }

private:
  void put_code(uint32_t x);

  message_buffer& place_;
  size_t size_ = 0;
  bool is_full_ = false;
};

// What cannot stand in a string as it is, or is not ASCII.
bool is_special(char c) {
  const auto code = static_cast<unsigned char>(c);
  return code < ' ' || c == '"' || c == '\\' || code >= 0x7f;
}

struct character {
  uint32_t code = replacement;
  size_t length = 1;
};

// The character that begins the text, which is not ASCII.
character character_of(std::string_view text) {
  const auto first = static_cast<uint8_t>(text[0]);
  const auto length = first >= 0xF0 ? size_t{4} : first >= 0xE0 ? 3u : 2u;
  if (first < 0xC2 || first > 0xF4 || text.size() < length)
    return {};
  auto code = static_cast<uint32_t>(first & (0x7F >> length));
  for (size_t i = 1; i < length; ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    if ((byte & 0xC0) != 0x80)
      return {};
    code = code << 6 | (byte & 0x3F);
  }
  const auto is_overlong
    = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const auto is_surrogate = code >= 0xD800 && code < 0xE000;
  if (is_overlong || is_surrogate || code > 0x10FFFF)
    return {};
  return {code, length};
}

void line_writer::put_escaped(std::string_view text) {
  while (!text.empty() && !is_full_) {
    const auto* special = std::find_if(text.begin(), text.end(), is_special);
    const auto plain = static_cast<size_t>(special - text.begin());
    put(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty())
      return;
    const auto c = static_cast<uint8_t>(text[0]);
    const auto x = c < 0x80 ? character{c, 1} : character_of(text);
    if (x.code >= 0x10000) {
      put_code(0xD800 + ((x.code - 0x10000) >> 10));
      put_code(0xDC00 + (x.code & 0x3FF));
    } else {
      put_code(x.code);
    }
    text.remove_prefix(x.length);
  }
}

void line_writer::put_code(uint32_t x) {
  constexpr auto digits = "0123456789abcdef";
  const char text[] = {'\\',
                       'u',
                       digits[x >> 12 & 15],
                       digits[x >> 8 & 15],
                       digits[x >> 4 & 15],
                       digits[x & 15]};
  put({text, sizeof text});
}

} // namespace

std::string_view write_message(message_buffer& place, const timer_message& x) {
  auto line = line_writer{place};
  line.put(R"({"version": 1, "pid": )");
  line.put(x.pid);
  line.put(R"(, "scope_id": ")");
  line.put_escaped(x.scope);
  line.put(R"(", "expiration_time": )");
  if (x.expiration)
    line.put_seconds(*x.expiration);
  else
    line.put("-1");
  line.put(R"(, "signal": )");
  line.put(int64_t{x.signal});
  line.put("}\n");
  return line.result();
}

} // namespace actorrun::worker
