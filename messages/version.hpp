// Defines the versions of the protocol between processes of a job.
#pragma once

#include <cstdint>

namespace actorrun {

/// The newest that this program speaks. It grows whenever a frame of the handshake or the
/// meaning of a message changes in a way that an older process would misread; a new
/// message, or a new optional field, is no such change.
inline constexpr uint16_t protocol_version = 12;

/// The oldest. Both ends of a connection speak the newest that both know.
inline constexpr uint16_t protocol_version_min = 12;

} // namespace actorrun
