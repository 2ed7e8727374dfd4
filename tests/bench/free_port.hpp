// Finds a port for the rendezvous of launchers.
#pragma once

#include <cstdint>

namespace actorrun::bench {

inline constexpr auto loopback = "127.0.0.1";

/// @returns a port of the loopback interface that is free at the moment; 0 if
///          there is none
uint16_t free_port();

} // namespace actorrun::bench
