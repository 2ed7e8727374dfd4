// Reserves the port that the workers of one epoch will meet at.
#pragma once

#include "actors/ports/master_ports.hpp"
#include "messages/result.hpp"
#include "runtime/os/socket_address.hpp"
#include "runtime/os/unique_fd.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace actorrun::detail {

/// Ports `first`..`last`, both included.
struct port_range {
  uint16_t first = 0;
  uint16_t last = 0;

  friend bool operator==(const port_range&, const port_range&) = default;
};

/// Prevents other actorrun processes of this network namespace from choosing
/// the same port. The port itself is left unbound, for the worker that will
/// listen.
class port_reservation {
public:
  port_reservation(uint16_t port, unique_fd lock)
    : port_(port), lock_(std::move(lock)) {}

  uint16_t port() const { return port_; }

private:
  uint16_t port_ = 0;
  unique_fd lock_;
};

/// The ranges to search for a port, given the kernel's range for outgoing
/// connections: a port of that range may be in use when the worker binds it.
/// 10000..32767 and 61000..65535 without `ephemeral`; if nothing of them is
/// left, 1024..65535.
std::vector<port_range> master_port_candidates(port_range ephemeral);

/// Reserves one of `candidates`, at random, but never the one that this process
/// got last time: workers of the previous epoch may still be known there.
/// @pre `candidates` is not empty, and every range has first ≤ last
/// @retval errc::address_in_use  none of those tried is free
result<port_reservation> reserve_port(std::span<const port_range> candidates);

/// Reserves a port for MASTER_PORT that is free now.
/// @retval errc::address_in_use  none of those tried is free
result<port_reservation> reserve_master_port();

/// A socket that is bound and does not listen yet. Meanwhile no other process
/// can bind the port at that address, and connections are refused.
struct bound_port {
  uint16_t port = 0;
  unique_fd socket;
};

/// Binds a port at `where`, whose own port does not matter; chosen as by
/// `reserve_master_port`.
/// @retval errc::address_in_use  none of those tried is free
/// @retval errc::cannot_listen   nothing can be bound there; the text says why
result<bound_port> bind_master_port(const socket_address& where);

/// Binds the port of `where`, although connections may linger there.
/// @retval errc::address_in_use  another program has it
/// @retval errc::cannot_listen   it cannot be bound; the text says why
result<bound_port> bind_port(const socket_address& where);

class reserved_ports final : public ports::master_ports {
public:
  /// @param wish The port to use always; none: another one for every epoch.
  explicit reserved_ports(std::optional<uint16_t> wish) : wish_(wish) {}

  uint16_t next() override {
    if (wish_)
      return *wish_;
    auto fresh = reserve_master_port();
    if (!fresh)
      return 0;
    last_ = std::exchange(current_, std::move(*fresh));
    return current_->port();
  }

private:
  std::optional<uint16_t> wish_;
  std::optional<port_reservation> current_;
  std::optional<port_reservation> last_;
};

} // namespace actorrun::detail
