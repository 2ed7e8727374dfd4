// Writes orders to live workers and reads their words: JSON, one object per packet.
#pragma once

#include "actors/core/workers/worker_talk.hpp"
#include "messages/result.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// The format is that of docs/decisions/0041-live-workers-talk.md. A reader ignores
// types and members that it does not know: they are those of later versions.
namespace actorrun::detail {

/// The version spoken here.
inline constexpr uint64_t control_version = 1;

/// Bytes of the longest packet, in both directions.
inline constexpr size_t control_packet_size_max = 4096;

/// Bytes of the longest text in a packet, as it is before it is written as JSON.
inline constexpr size_t control_text_size_max = 256;

/// A packet with an order. If it is too long, the reason is shortened first, then
/// survivors are left out from the end; `survivors_cut` says so.
/// @returns nothing if not even that is enough: the environment is too large
std::optional<std::string> control_packet(const core::worker_order& order);

/// A packet that says what was wrong, before the connection is closed.
std::string control_error_packet(std::string_view text);

/// @returns nothing if the type is not known: to be ignored
/// @retval errc::not_actorrun       it is no packet of a worker
/// @retval errc::protocol_mismatch  it is a hello of another version; the text
///         names the version spoken here
result<std::optional<core::worker_word>>
parse_control_packet(std::string_view packet);

} // namespace actorrun::detail
