// Finds the addresses of this machine: all to listen at, and one for others.
#pragma once

#include "runtime/os/socket_address.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace actorrun::detail {

/// Whether `host` is the number that stands for all addresses of a machine: 0.0.0.0,
/// or :: in any spelling.
bool is_any_address(const std::string& host);

/// All addresses of this machine, of both families if it has IPv6.
socket_address wildcard_address(uint16_t port);

/// All addresses of this machine's interfaces but loopback, and those that need the name
/// of an interface.
std::vector<std::string> addresses_for_others();

/// At which address other machines reach this one, as far as it can know: that of its
/// own name, or that of its route to other networks, or any. Empty if it has but
/// loopback. Blocks like `resolve`.
std::string address_for_others();

/// The address of this machine that its packets to `host` have. Empty if there is no way
/// there, or `host` has no address. Blocks like `resolve`.
std::string address_towards(const std::string& host);

} // namespace actorrun::detail
