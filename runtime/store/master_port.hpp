// Reserves the port that the workers of one generation will meet at.
#pragma once

#include "actors/ports/master_ports.hpp"
#include "messages/result.hpp"
#include "runtime/os/socket_address.hpp"
#include "runtime/os/unique_fd.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace actorrun::detail {

class store_entrance;

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
/// got last time: workers of the previous generation may still be known there.
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

/// Keeps other actorrun processes of this network namespace from `port`, as long as
/// it lives.
/// @retval errc::address_in_use  one of them has it
/// @retval errc::cannot_listen   nothing can be held; the text says why
result<unique_fd> lock_port(uint16_t port);

class reserved_ports final : public ports::master_ports {
public:
  /// @param wish The port to use always; none: another one for every generation.
  explicit reserved_ports(std::optional<uint16_t> wish) : wish_(wish) {}

  /// Reserves the port that was wished for, where no program may listen yet.
  /// Without a wish does nothing.
  /// @retval errc::address_in_use  another program has it
  /// @retval errc::cannot_listen   this host cannot have it; the text says why
  result<void> hold();

  /// Uses this port always, if no other program has it; else the wish stays none.
  /// @pre there is no wish
  void prefer(uint16_t port);

  /// Clients that come to the coordinator's port are told of the worker's.
  void share(std::shared_ptr<store_entrance> entrance) {
    entrance_ = std::move(entrance);
  }

  result<void> open(const core::generation_plan& plan) override;
  void elsewhere(const core::generation_plan& plan) override;

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
  unique_fd lock_;                           ///< Of it.
  std::shared_ptr<store_entrance> entrance_; ///< May be null.
  std::optional<port_reservation> current_;
  std::optional<port_reservation> last_;
};

} // namespace actorrun::detail
