// Whether another process is still there: one side listens and says nothing,
// the other connects and looks what the system answers.
#pragma once

#include "actors/core/time.hpp"
#include "messages/result.hpp"
#include "runtime/os/reactor.hpp"
#include "runtime/os/socket_address.hpp"

#include <cstdint>
#include <functional>
#include <string>

namespace actorrun::detail {

/// Shows that this process lives: accepts and closes at once, reads nothing.
/// When the process ends the system refuses connections in its place.
class liveness_listener {
public:
  /// Listens on `host`, on a port that the system chooses.
  /// @param host A numeric address of this machine.
  /// @retval errc::cannot_listen  it is no such address, or the system refuses
  static result<liveness_listener> listen(reactor& home,
                                          const std::string& host);

  /// What to probe.
  const socket_address& address() const { return address_; }
  uint16_t port() const { return port_of(address_); }

private:
  liveness_listener(reactor_handle handle, const socket_address& address)
    : handle_(std::move(handle)), address_(address) {}

  reactor_handle handle_;
  socket_address address_;
};

enum class liveness {
  refused, ///< The host answers, nobody listens: the process is gone.
  alive,   ///< Somebody took the connection.
  silent,  ///< Nothing came back in time, or nothing that says either.
};

/// Connects to a life listener and tells what came of it, once, on the
/// reactor's thread.
/// @param deadline > 0
/// @returns the probe; going, it gives up and the callback is not called
[[nodiscard]] reactor_handle probe(reactor& home, const socket_address& where,
                                   core::duration deadline,
                                   std::function<void(liveness)> on_done);

} // namespace actorrun::detail
