// Encodes what operators and jobs say to each other.
#pragma once

#include "messages/result.hpp"
#include "runtime/network/message_frames.hpp"

#include "messages/operator.pb.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace actorrun::detail {

/// Of one reply, in bytes.
inline constexpr size_t reply_size_max = message_frame_max;

/// Of one request, in bytes.
inline constexpr size_t request_size_max = 64 * 1024;

/// The reply of this number with a status that is encoded already.
std::string status_frame(uint64_t number, const std::string& status);

} // namespace actorrun::detail
