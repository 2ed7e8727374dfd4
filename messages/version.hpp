// Defines the version of the protocol between processes of a job.
#pragma once

#include <cstdint>

namespace actorrun {

/// Both ends of a connection must speak the same one. It grows whenever a
/// frame of the handshake or the meaning of a message changes in a way that an
/// older process would misread; a new optional field is no such change.
inline constexpr uint16_t protocol_version = 11;

/// The major version of the CAF that this program is built with: 0 for 0.17, which is
/// the default, 1 for 1.1.
uint8_t caf_major();

/// What both ends of an agent's link give as the version: the protocol's, and in the
/// upper byte the CAF's. Operators need no CAF and give the protocol's alone.
uint16_t link_version();

} // namespace actorrun
