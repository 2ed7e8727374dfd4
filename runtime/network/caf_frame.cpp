#include "runtime/network/caf_frame.hpp"

#include <cassert>

namespace actorrun::detail {

namespace {

using namespace std::string_view_literals;

/// What a message begins with in a content: no further receivers, and a number
/// that CAF does not use.
constexpr auto message_prefix = "\0\0\0"sv;
/// Before the names of the types in a message.
constexpr auto types_prefix = "@<>+"sv;
/// The only application that CAF knows without settings, in a list of one.
constexpr auto application = "\x01\x0fgeneric-caf-app"sv;
/// A message without a content, as in the reason of an end.
constexpr auto empty_message = "\0\0\x03@<>"sv;

/// The reason of an end: a number and the name of its kind, and a message.
constexpr size_t reason_size = 1 + 8;

constexpr size_t data_offset = 8;
constexpr size_t source_offset = 16;
constexpr size_t destination_offset = 24;

/// What CAF numbers a message with that has no answer.
constexpr auto unanswered = uint64_t{0x1000'0000'0000'0000};

} // namespace

std::optional<std::string_view> take_text(std::string_view& from) {
  auto size = size_t{0};
  for (auto shift = 0U; shift < 28U; shift += 7U) {
    if (from.empty())
      return std::nullopt;
    const auto x = static_cast<uint8_t>(from.front());
    from.remove_prefix(1);
    size |= size_t{x & 0x7FU} << shift;
    if ((x & 0x80U) != 0)
      continue;
    if (size > from.size())
      return std::nullopt;
    const auto out = from.substr(0, size);
    from.remove_prefix(size);
    return out;
  }
  return std::nullopt;
}

void append_text(std::string& out, std::string_view text) {
  auto size = text.size();
  for (; size > 0x7FU; size >>= 7U)
    out += static_cast<char>(0x80U | (size & 0x7FU));
  out += static_cast<char>(size);
  out += text;
}

void append_number(std::string& out, uint64_t x, size_t size) {
  for (auto i = size; i > 0; --i)
    out += static_cast<char>(x >> (8U * (i - 1)));
}

caf_frame parse_frame(std::string_view bytes) {
  assert(bytes.size() >= frame_header_size);
  return {
    .kind = static_cast<uint8_t>(bytes[0]),
    .flags = static_cast<uint8_t>(bytes[3]),
    .operation_data = number_at(bytes, data_offset, 8),
    .source = number_at(bytes, source_offset, 8),
    .destination = number_at(bytes, destination_offset, 8),
    .content = bytes.substr(frame_header_size),
  };
}

std::string encode_frame(const caf_frame& x) {
  auto out = std::string{static_cast<char>(x.kind), '\0', '\0',
                         static_cast<char>(x.flags)};
  append_number(out, x.content.size(), 4);
  append_number(out, x.operation_data, 8);
  append_number(out, x.source, 8);
  append_number(out, x.destination, 8);
  return out.append(x.content);
}

std::string message_content(std::string_view type, std::string_view bytes) {
  auto out = std::string{message_prefix};
  append_text(out, std::string{types_prefix}.append(type));
  append_text(out, bytes);
  return out;
}

std::string write_message(uint64_t source, uint64_t destination,
                          std::string_view type, std::string_view bytes) {
  return encode_frame({.kind = static_cast<uint8_t>(frame_kind::direct_message),
                       .operation_data = unanswered,
                       .source = source,
                       .destination = destination,
                       .content = message_content(type, bytes)});
}

std::optional<frame_message> parse_message(std::string_view content) {
  if (!content.starts_with(message_prefix))
    return std::nullopt;
  content.remove_prefix(message_prefix.size());
  const auto types = take_text(content);
  if (!types || !types->starts_with(types_prefix))
    return std::nullopt;
  const auto bytes = take_text(content);
  if (!bytes || !content.empty())
    return std::nullopt;
  return frame_message{types->substr(types_prefix.size()), *bytes};
}

std::optional<uint64_t> offered_actor(std::string_view content) {
  const auto size = node_name_size + application.size() + 8 + 1;
  if (content.size() != size || content.back() != '\0'
      || content.substr(node_name_size, application.size()) != application)
    return std::nullopt;
  return number_at(content, node_name_size + application.size(), 8);
}

std::string plain_end() {
  return std::string(reason_size, '\0').append(empty_message);
}

bool is_plain_end(std::string_view content) {
  return content.size()
           == 2 * node_name_size + reason_size + empty_message.size()
         && content.ends_with(empty_message);
}

} // namespace actorrun::detail
