#include "runtime/worker/detail/timer_message.hpp"

#include "actors/core/utf8.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>

namespace actorrun::worker {

namespace {

constexpr int64_t nanoseconds_per_second = 1'000'000'000;

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

void line_writer::put_escaped(std::string_view text) {
  while (!text.empty() && !is_full_) {
    const auto* special = std::find_if(text.begin(), text.end(), is_special);
    const auto plain = static_cast<size_t>(special - text.begin());
    put(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty())
      return;
    const auto x = core::utf8_at(text);
    if (x.code >= 0x10000) {
      put_code(0xD800 + ((x.code - 0x10000) >> 10));
      put_code(0xDC00 + (x.code & 0x3FF));
    } else {
      put_code(x.code);
    }
    text.remove_prefix(std::max(x.length, size_t{1}));
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
