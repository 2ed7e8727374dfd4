#include "actors/core/logs/own_line.hpp"

#include "actors/core/text.hpp"

#include <algorithm>

namespace actorrun::core {

namespace {

constexpr auto indentation = std::string_view{"  "};
constexpr auto ellipsis = std::string_view{"\xe2\x80\xa6"};

bool is_plain(char c) {
  return (c >= ' ' && c < '\x7f') || c == '\t';
}

} // namespace

std::string_view own_line(std::string_view line, std::string& room) {
  if (line.size() <= own_line_max && std::ranges::all_of(line, is_plain))
    return line;
  room.clear();
  for (const auto c : printable(beginning_of(line, own_line_max))) {
    room += c;
    if (c == '\n')
      room += indentation;
  }
  if (line.size() > own_line_max)
    room += ellipsis;
  return room;
}

} // namespace actorrun::core
