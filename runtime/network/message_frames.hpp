// Encodes what processes of a job say to each other over a link: frames of four bytes
// of size, in network order, and one Protobuf message.
#pragma once

#include "messages/result.hpp"
#include "runtime/network/frame_splitter.hpp"

#include <google/protobuf/message_lite.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace actorrun::detail {

/// Of one message, in bytes, whoever sends it; some roles may send less.
inline constexpr size_t message_frame_max = 1 << 20;

/// Has a content: a message without one asks and says nothing.
/// @param content_max What the other side may send, in bytes; `message_frame_max` at
///                    most.
constexpr frame_layout message_frame_layout(uint32_t content_max) {
  return {.header_size = 4,
          .size_offset = 0,
          .content_min = 1,
          .content_max = content_max};
}

/// The header of a frame. @pre `size` is 1 to `message_frame_max`
std::string frame_header(size_t size);

/// @pre `x` takes 1 byte or more, and as many as the other side allows at most
std::string message_frame(const google::protobuf::MessageLite& x);

/// Reads the message in a frame.
/// @returns a failure if it is none, as a verb and its object
result<void> read_message(std::string_view frame,
                          google::protobuf::MessageLite& to);

/// Takes the next message from the front.
/// @returns none: its rest has not arrived; a failure: the other side sends
///          something else, as a verb and its object
template <class Message>
result<std::optional<Message>> next_message(frame_splitter& from) {
  const auto frame = from.next();
  if (!frame)
    return frame.error();
  if (!*frame)
    return std::optional<Message>{};
  auto out = std::optional<Message>{Message{}};
  if (const auto ok = read_message(**frame, *out); !ok)
    return ok.error();
  return out;
}

} // namespace actorrun::detail
