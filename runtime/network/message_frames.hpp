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

/// The header of a frame. @pre `size` is 1 to `message_frame_max`
std::string frame_header(size_t size);

/// @pre `x` takes 1 byte or more, and as many as the other side allows at most
std::string message_frame(const google::protobuf::MessageLite& x);

/// Reads the message that is the content of a frame.
/// @returns a failure if it is none, as a verb and its object
result<void> read_message(std::string_view content,
                          google::protobuf::MessageLite& to);

/// Takes the next message from the front.
/// @returns none: its rest has not arrived; a failure: the other side sends
///          something else, as a verb and its object
template <class Message>
result<std::optional<Message>> next_message(frame_splitter& from) {
  const auto content = from.next();
  if (!content)
    return content.error();
  if (!*content)
    return std::optional<Message>{};
  auto out = std::optional<Message>{Message{}};
  if (const auto ok = read_message(**content, *out); !ok)
    return ok.error();
  return out;
}

} // namespace actorrun::detail
