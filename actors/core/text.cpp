#include "actors/core/text.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <string.h>

namespace actorrun::core {

namespace {

constexpr size_t host_text_size_max = 255;
constexpr auto host_characters = std::string_view{
  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_:%"};

constexpr auto escape = '\x1b';
constexpr auto bell = '\x07';
constexpr auto replacement = std::string_view{"\xef\xbf\xbd"};

bool is_continuation(char c) {
  return (static_cast<uint8_t>(c) & 0xC0) == 0x80;
}

// Bytes of an escape sequence: `ESC [ … final`, `ESC ] … BEL` (or ESC \), or
// ESC with one more. One that does not end on its line is no more than its
// first two bytes.
size_t escape_length(std::string_view text) {
  if (text.size() < 2)
    return 1;
  const auto is_title = text[1] == ']';
  if (text[1] != '[' && !is_title)
    return text[1] >= ' ' && text[1] <= '~' ? 2 : 1;
  for (size_t i = 2; i < text.size() && text[i] != '\n'; ++i) {
    if (is_title && (text[i] == bell || text[i] == escape))
      return text[i] == bell ? i + 1 : i;
    if (!is_title && text[i] >= '@' && text[i] <= '~')
      return i + 1;
  }
  return 2;
}

// U+0080 to U+009F: some terminals take them for the beginning of a sequence.
bool is_late_control(std::string_view character) {
  return character.size() == 2 && character[0] == '\xC2'
         && static_cast<uint8_t>(character[1]) < 0xA0;
}

// U+202A to U+202E and U+2066 to U+2069: what follows is shown in another order than
// it was written in (UAX #9).
bool is_direction(std::string_view character) {
  return (character >= "\u202a" && character <= "\u202e")
         || (character >= "\u2066" && character <= "\u2069");
}

void put_control(std::string& out, char c) {
  constexpr auto digits = "0123456789abcdef";
  const auto value = static_cast<uint8_t>(c);
  out += {'\\', 'x', digits[value >> 4], digits[value & 15]};
}

std::vector<std::string_view> lines_of(std::string_view text) {
  auto result = std::vector<std::string_view>{};
  for (size_t start = 0; start <= text.size();) {
    const auto end = std::min(text.find('\n', start), text.size());
    result.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return result;
}

std::string_view last_state(std::string_view line) {
  while (line.ends_with('\r'))
    line.remove_suffix(1);
  const auto start = line.rfind('\r');
  return start == line.npos ? line : line.substr(start + 1);
}

} // namespace

bool is_host_text(std::string_view text) {
  return !text.empty() && text.size() <= host_text_size_max
         && text.find_first_not_of(host_characters) == text.npos;
}

std::string printable(std::string_view bytes) {
  auto out = std::string{};
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const auto c = bytes.front();
    auto length = utf8_at(bytes).length;
    if (length == 0 || is_late_control(bytes.substr(0, length))
        || is_direction(bytes.substr(0, length))) {
      out += replacement;
      length = length == 0 ? 1 : length;
    } else if (c == escape) {
      length = escape_length(bytes);
    } else if ((c >= 0 && c < ' ' && c != '\n' && c != '\t') || c == '\x7f') {
      put_control(out, c);
    } else {
      out += bytes.substr(0, length);
    }
    bytes.remove_prefix(length);
  }
  return out;
}

std::string_view end_of(std::string_view text, size_t limit) {
  if (text.size() <= limit)
    return text;
  text.remove_prefix(text.size() - limit);
  while (!text.empty() && is_continuation(text.front()))
    text.remove_prefix(1);
  return text;
}

std::string_view beginning_of(std::string_view text, size_t limit) {
  if (text.size() <= limit)
    return text;
  while (limit > 0 && is_continuation(text[limit]))
    --limit;
  return text.substr(0, limit);
}

std::string_view take_until(std::string_view& text, char separator) {
  const auto end = std::min(text.find(separator), text.size());
  const auto out = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return out;
}

std::string first_line_of(std::string_view text) {
  for (const auto line : lines_of(text))
    if (auto x = printable(last_state(line)); !x.empty())
      return x;
  return {};
}

std::string lowered(std::string_view text) {
  auto out = std::string{text};
  for (auto& c : out)
    if (c >= 'A' && c <= 'Z')
      c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::string last_lines(std::string_view bytes, bool is_cut, size_t line_max) {
  while (bytes.ends_with('\n') || bytes.ends_with('\r'))
    bytes.remove_suffix(1);
  if (const auto end = bytes.find('\n'); is_cut && end != bytes.npos)
    bytes.remove_prefix(end + 1);
  const auto lines = lines_of(bytes);
  auto out = std::string{};
  auto separator = "";
  for (auto i = lines.size() - std::min(lines.size(), line_max);
       i < lines.size(); ++i) {
    out += separator + printable(last_state(lines[i]));
    separator = "\n";
  }
  return out;
}

std::string to_ranges(std::span<const uint32_t> numbers) {
  auto ascending = std::vector(numbers.begin(), numbers.end());
  std::ranges::sort(ascending);
  ascending.erase(std::unique(ascending.begin(), ascending.end()),
                  ascending.end());
  auto out = std::string{};
  for (size_t i = 0; i < ascending.size();) {
    auto last = i;
    while (last + 1 < ascending.size()
           && ascending[last + 1] == ascending[last] + 1)
      ++last;
    out += (out.empty() ? "" : ",") + std::to_string(ascending[i]);
    if (last > i)
      out += "-" + std::to_string(ascending[last]);
    i = last + 1;
  }
  return out;
}

std::string counted(uint64_t n, std::string_view noun) {
  return std::to_string(n) + " " + std::string{noun} + (n == 1 ? "" : "s");
}

std::string duration_text(std::chrono::nanoseconds x) {
  using namespace std::chrono_literals;
  x = std::max(x, 0ns);
  if (x < 2min) {
    const auto in_seconds = x >= 1s;
    const auto tenths
      = x / (in_seconds ? 100ms : std::chrono::nanoseconds{100us});
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10)
           + (in_seconds ? " s" : " ms");
  }
  if (x < 2h)
    return std::to_string(x / 1min) + " min " + std::to_string(x % 1min / 1s)
           + " s";
  return std::to_string(x / 1h) + " h " + std::to_string(x % 1h / 1min)
         + " min";
}

std::string signal_name(int signal) {
  const auto* abbreviation = ::sigabbrev_np(signal);
  return abbreviation == nullptr ? std::string{}
                                 : std::string{"SIG"} + abbreviation;
}

std::string error_text(int error) {
  const auto* description = ::strerrordesc_np(error);
  return description == nullptr ? "error " + std::to_string(error)
                                : description;
}

failure system_failure(std::string what, int error) {
  return actorrun::system_failure(std::move(what) + ": " + error_text(error));
}

} // namespace actorrun::core
