// Encodes what operators and jobs say to each other: frames of four bytes of
// size, in network order, and one Protobuf message.
#pragma once

#include "messages/result.hpp"
#include "runtime/network/frame_splitter.hpp"

#include "messages/operator.pb.h"

#include <cstddef>
#include <optional>
#include <string>

namespace actorrun::detail {

/// Of one reply, in bytes.
inline constexpr size_t reply_size_max = 1 << 20;

/// Of one request, in bytes.
inline constexpr size_t request_size_max = 64 * 1024;

/// Has a content: a message without one asks and says nothing.
constexpr frame_layout operator_frame_layout(uint32_t content_max) {
  return {.header_size = 4,
          .size_offset = 0,
          .content_min = 1,
          .content_max = content_max};
}

/// @pre `x` takes 1 byte or more, and as many as the other side allows at most
std::string operator_frame(const google::protobuf::MessageLite& x);

/// The reply of this number with a status that is encoded already.
std::string status_frame(uint64_t number, const std::string& status);

/// Takes the next message from the front.
/// @returns none: its rest has not arrived; a failure: the other side sends
///          something else, as a verb and its object
result<std::optional<v1::OperatorRequest>> next_request(frame_splitter& from);
result<std::optional<v1::OperatorReply>> next_reply(frame_splitter& from);

} // namespace actorrun::detail
