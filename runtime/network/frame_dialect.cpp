#include "runtime/network/frame_dialect.hpp"

#include <caf/binary_serializer.hpp>

#include <cassert>
#include <cstdint>
#include <optional>

#if ACTORRUN_CAF_1
#include <caf/byte_buffer.hpp>
#include <caf/io/basp/version.hpp>
#include <caf/type_id.hpp>

#include <algorithm>
#endif

namespace actorrun::detail {

#if ACTORRUN_CAF_1

namespace {

using namespace std::string_view_literals;

/// Both kinds of names end with the 24 bytes that identify a system.
constexpr size_t identity_size = 24;
constexpr auto name_kind = "\0\0\x3e\x9a\xab\x9b\xac\x79"sv;
constexpr auto own_name_kind = "\x01"sv;
constexpr size_t own_name_size = own_name_kind.size() + identity_size;
static_assert(name_kind.size() + identity_size == node_name_size);

/// What CAF 0.17 calls the version of its protocol.
constexpr auto wire_version = uint64_t{3};

/// CAF 1 writes how many types a message has, and the number of each.
constexpr auto one_type = "\x01"sv;
/// It writes so that there is no reason for an end.
constexpr auto own_plain_end = "\0"sv;

std::string_view take(std::string_view& from, size_t size) {
  const auto out = from.substr(0, size);
  from.remove_prefix(out.size());
  return out;
}

/// Moves a name from the front of `from` to `out`.
bool name_to_wire(std::string_view& from, std::string& out) {
  const auto name = take(from, own_name_size);
  if (name.size() != own_name_size || !name.starts_with(own_name_kind))
    return false;
  out.append(name_kind).append(name.substr(own_name_kind.size()));
  return true;
}

void name_from_wire(std::string_view& from, std::string& out) {
  out.append(own_name_kind)
    .append(take(from, node_name_size).substr(name_kind.size()));
}

std::optional<std::string> message_to_wire(std::string_view content) {
  constexpr auto head_size = one_type.size() + 2;
  if (!content.starts_with(one_type) || content.size() < head_size)
    return std::nullopt;
  const auto type = caf::query_type_name(
    static_cast<uint16_t>(number_at(content, one_type.size(), 2)));
  content.remove_prefix(head_size);
  const auto bytes = take_text(content);
  if (type.empty() || !bytes || !content.empty())
    return std::nullopt;
  return message_content(type, *bytes);
}

std::string message_from_wire(std::string_view content) {
  const auto message = parse_message(content);
  assert(message);
  auto out = std::string{one_type};
  append_number(out, caf::query_type_id(message->type), 2);
  append_text(out, message->bytes);
  return out;
}

/// The content of such a frame; none if no member of a job sends it.
std::optional<std::string> content_to_wire(frame_kind kind,
                                           std::string_view from) {
  auto out = std::string{};
  switch (kind) {
    case frame_kind::server_handshake:
    case frame_kind::client_handshake:
      if (!name_to_wire(from, out))
        return std::nullopt;
      return out.append(from);
    case frame_kind::direct_message:
      return message_to_wire(from);
    case frame_kind::monitor_message:
    case frame_kind::down_message:
      if (!name_to_wire(from, out) || !name_to_wire(from, out))
        return std::nullopt;
      // That an actor has ended counts, not why: the numbers of reasons differ.
      return kind == frame_kind::down_message ? out + plain_end() : out;
    case frame_kind::sign_of_life:
      return out;
    case frame_kind::routed_message:
      break;
  }
  return std::nullopt;
}

std::string content_from_wire(frame_kind kind, std::string_view from) {
  auto out = std::string{};
  switch (kind) {
    case frame_kind::server_handshake:
    case frame_kind::client_handshake:
      name_from_wire(from, out);
      return out.append(from);
    case frame_kind::direct_message:
      return message_from_wire(from);
    case frame_kind::monitor_message:
    case frame_kind::down_message:
      name_from_wire(from, out);
      name_from_wire(from, out);
      return kind == frame_kind::down_message ? out.append(own_plain_end) : out;
    case frame_kind::sign_of_life:
    case frame_kind::routed_message:
      break;
  }
  return out;
}

} // namespace

result<std::string_view> frame_dialect::to_wire(std::string_view bytes) {
  to_wire_.clear();
  leaving_.add(bytes);
  for (;;) {
    const auto frame = leaving_.next();
    if (!frame)
      return frame.error();
    if (!*frame)
      return std::string_view{to_wire_};
    auto x = parse_frame(**frame);
    const auto kind = frame_kind{x.kind};
    const auto content = content_to_wire(kind, x.content);
    if (!content)
      continue;
    x.content = *content;
    if (kind == frame_kind::server_handshake)
      x.operation_data = wire_version;
    to_wire_ += encode_frame(x);
  }
}

std::string_view frame_dialect::from_wire(std::string_view frames) {
  from_wire_.clear();
  arriving_.add(frames);
  for (;;) {
    const auto frame = arriving_.next();
    assert(frame); // The filter has looked at it.
    if (!*frame)
      return from_wire_;
    auto x = parse_frame(**frame);
    const auto kind = frame_kind{x.kind};
    const auto content = content_from_wire(kind, x.content);
    x.content = content;
    if (kind == frame_kind::server_handshake)
      x.operation_data = caf::io::basp::version;
    from_wire_ += encode_frame(x);
  }
}

std::string wire_name(const caf::node_id& x) {
  auto bytes = caf::byte_buffer{};
  auto writer = caf::binary_serializer{bytes};
  [[maybe_unused]] const auto done = writer.apply(x);
  assert(done);
  auto text = std::string{};
  for (const auto byte : bytes)
    text += static_cast<char>(byte);
  auto out = std::string{};
  auto rest = std::string_view{text};
  [[maybe_unused]] const auto is_name = name_to_wire(rest, out);
  assert(is_name && rest.empty());
  return out;
}

#else

result<std::string_view> frame_dialect::to_wire(std::string_view bytes) {
  return bytes;
}

std::string_view frame_dialect::from_wire(std::string_view frames) {
  return frames;
}

std::string wire_name(const caf::node_id& x) {
  auto bytes = caf::binary_serializer::container_type{};
  auto writer = caf::binary_serializer{nullptr, bytes};
  [[maybe_unused]] const auto trouble = writer(x);
  assert(!trouble && bytes.size() == node_name_size);
  return {bytes.begin(), bytes.end()};
}

#endif

} // namespace actorrun::detail
