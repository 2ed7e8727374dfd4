#include "runtime/worker/detail/json_reader.hpp"

#include "actors/core/timers/json.hpp"
#include "actors/core/utf8.hpp"

#include <algorithm>
#include <charconv>

namespace actorrun::worker {

namespace {

using kind = json_value::kind;

bool read_value(core::json_cursor& in, json_value& out, int depth);

bool read_object(core::json_cursor& in, json_value& out, int depth) {
  out.is = kind::object;
  in.take('{');
  if (in.sees('}'))
    return in.take('}');
  do {
    auto& [name, member] = out.members.emplace_back();
    if (!in.read_string(&name) || !in.take(':')
        || !read_value(in, member, depth + 1))
      return false;
  } while (in.sees(',') && in.take(','));
  return in.take('}');
}

bool read_array(core::json_cursor& in, json_value& out, int depth) {
  out.is = kind::array;
  in.take('[');
  if (in.sees(']'))
    return in.take(']');
  do {
    if (!read_value(in, out.items.emplace_back(), depth + 1))
      return false;
  } while (in.sees(',') && in.take(','));
  return in.take(']');
}

// What only Python takes for a number is none.
bool read_number(core::json_cursor& in, json_value& out) {
  const auto number = in.read_number();
  if (!number || number->find_first_of("NI") != number->npos)
    return false;
  out.is = kind::number;
  out.text = *number;
  return true;
}

bool read_value(core::json_cursor& in, json_value& out, int depth) {
  if (depth > json_depth_max)
    return false;
  if (in.sees('{'))
    return read_object(in, out, depth);
  if (in.sees('['))
    return read_array(in, out, depth);
  if (in.sees('"')) {
    out.is = kind::text;
    return in.read_string(&out.text);
  }
  for (const auto* word : {"true", "false", "null"})
    if (in.take_word(word)) {
      out.is = *word == 'n' ? kind::null : kind::boolean;
      out.text = word;
      return true;
    }
  return read_number(in, out);
}

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
  auto in = core::json_cursor{text};
  if (!read_value(in, out, 1) || !in.at_end())
    return std::nullopt;
  return out;
}

void append_json(std::string& out, std::string_view text) {
  constexpr auto digits = "0123456789abcdef";
  out += '"';
  while (!text.empty()) {
    const auto c = text[0];
    const auto length = core::utf8_at(text).length;
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
