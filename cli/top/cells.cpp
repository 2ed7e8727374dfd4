#include "cli/top/cells.hpp"

#include "actors/core/text.hpp"

#include <algorithm>

#include <wchar.h>

namespace actorrun::cli::top {

namespace {

/// A character of a text, and how many columns it takes.
struct glyph {
  std::string_view bytes;
  size_t width = 1;
  bool is_shown = true; ///< Else it is replaced.
};

size_t length_of(unsigned char lead) {
  return lead < 0x80   ? 1
         : lead < 0xc0 ? 0
         : lead < 0xe0 ? 2
         : lead < 0xf0 ? 3
         : lead < 0xf8 ? 4
                       : 0;
}

/// @pre `!text.empty()`
glyph first_of(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  const auto length = length_of(lead);
  if (length == 1)
    return {text.substr(0, 1), 1, lead >= 0x20 && lead != 0x7f};
  if (length == 0 || length > text.size())
    return {text.substr(0, 1), 1, false};
  auto code = static_cast<wchar_t>(lead & (0xff >> (length + 1)));
  for (size_t i = 1; i < length; ++i)
    code = static_cast<wchar_t>((code << 6)
                                | (static_cast<unsigned char>(text[i]) & 0x3f));
  const auto width = ::wcwidth(code);
  return {text.substr(0, length), width < 0 ? 1 : static_cast<size_t>(width),
          width >= 0};
}

/// A line without room beside its first texts: its last one is below them. Where
/// there is hardly room for that, the rest is cut off.
std::vector<line> stacked(const line& x, size_t width, size_t room_min) {
  constexpr auto indent = "  ";
  if (x.size() == 1 || width < width_of(indent) + room_min)
    return {x};
  auto head = line{x.begin(), x.end() - 1};
  auto& end = head.back().text;
  end.erase(end.find_last_not_of(' ') + 1);
  auto out = wrapped(head, width);
  for (auto& y : wrapped({{indent}, x.back()}, width))
    out.push_back(std::move(y));
  return out;
}

/// Appends as much of a text as fits. @returns the columns that it takes
size_t append(std::string& out, std::string_view text, size_t width) {
  auto taken = size_t{0};
  while (!text.empty()) {
    const auto next = first_of(text);
    if (taken + next.width > width)
      break;
    out += next.is_shown ? next.bytes : std::string_view{"?"};
    taken += next.width;
    text.remove_prefix(next.bytes.size());
  }
  return taken;
}

} // namespace

std::string ms_text(uint64_t ms) {
  constexpr auto longest = uint64_t{1} << 50;
  return core::duration_text(std::chrono::milliseconds{std::min(ms, longest)});
}

size_t width_of(std::string_view text) {
  auto out = size_t{0};
  while (!text.empty()) {
    const auto next = first_of(text);
    out += next.width;
    text.remove_prefix(next.bytes.size());
  }
  return out;
}

std::string fitted(std::string_view text, size_t width, bool is_right) {
  auto out = std::string{};
  const auto is_cut = width_of(text) > width;
  auto taken = append(out, text, is_cut && width > 1 ? width - 1 : width);
  if (is_cut && width > 1) {
    out += '~';
    ++taken;
  }
  const auto rest = std::string(width - taken, ' ');
  return is_right ? rest + out : out + rest;
}

line fitted(line x, size_t width) {
  auto out = line{};
  auto left = width;
  for (auto& y : x) {
    auto text = std::string{};
    left -= append(text, y.text, left);
    out.push_back({std::move(text), y.look});
  }
  if (out.empty())
    out.emplace_back();
  out.back().text += std::string(left, ' ');
  return out;
}

std::string_view beginning_of(std::string_view text, size_t width) {
  auto taken = size_t{0};
  for (auto rest = text; !rest.empty();) {
    const auto next = first_of(rest);
    if (taken + next.width > width)
      return text.substr(0, text.size() - rest.size());
    taken += next.width;
    rest.remove_prefix(next.bytes.size());
  }
  return text;
}

std::vector<line> wrapped(const line& x, size_t width) {
  auto indent = size_t{0};
  for (size_t i = 0; i + 1 < x.size(); ++i)
    indent += width_of(x[i].text);
  constexpr size_t room_min = 10;
  if (x.empty() || indent + width_of(x.back().text) <= width)
    return {x};
  if (width < indent + room_min)
    return stacked(x, width, room_min);
  auto out = std::vector<line>{};
  auto rest = std::string_view{x.back().text};
  auto now = line{x.begin(), x.end() - 1};
  do {
    auto part = beginning_of(rest, width - indent);
    auto taken = part.size();
    if (taken < rest.size() && rest[taken] == ' ') {
      ++taken; // The space between two words, of which the first one fits.
    } else if (const auto space = part.rfind(' ');
               taken < rest.size() && space != part.npos && space > 0) {
      taken = space + 1;
      part = part.substr(0, taken);
    }
    now.push_back({std::string{part}, x.back().look});
    out.push_back(std::move(now));
    now = {{std::string(indent, ' ')}};
    rest.remove_prefix(taken);
  } while (!rest.empty());
  return out;
}

std::string plain_text(const line& x) {
  auto out = std::string{};
  for (const auto& y : x)
    out += y.text;
  out.erase(out.find_last_not_of(' ') + 1);
  return out;
}

} // namespace actorrun::cli::top
