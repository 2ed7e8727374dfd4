// Defines the version of the protocol between processes of a job.
#pragma once

#include <cstdint>

namespace actorrun {

/// Both ends of a connection must speak the same one. It grows whenever a
/// frame of the handshake or the meaning of a message changes in a way that an
/// older process would misread; a new optional field is no such change.
inline constexpr uint16_t protocol_version = 8;

} // namespace actorrun
