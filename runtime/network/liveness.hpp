// Detects whether another process still lives: it listens on a port, and the
// system refuses connections there when it has ended.
#pragma once

#include "actors/core/time.hpp"
#include "messages/result.hpp"
#include "runtime/os/reactor.hpp"
#include "runtime/os/socket_address.hpp"

#include <cstdint>
#include <functional>
#include <string>

namespace actorrun::detail {

/// Shows that this process lives: accepts connections and closes them at once.
/// When the process has ended, the system refuses them.
class liveness_listener {
public:
  /// Listens on `host`, on a port that the system chooses.
  /// @param host A numeric address of this machine.
  /// @retval errc::cannot_listen  it is no such address, or the system refuses
  static result<liveness_listener> listen(reactor& home,
                                          const std::string& host);

  /// The address to probe.
  const socket_address& address() const { return address_; }
  uint16_t port() const { return port_of(address_); }

private:
  liveness_listener(reactor_handle handle, const socket_address& address)
    : handle_(std::move(handle)), address_(address) {}

  reactor_handle handle_;
  socket_address address_;
};

enum class liveness {
  refused, ///< The host refuses the connection: the process is gone.
  alive,   ///< The connection was accepted.
  silent,  ///< No answer in time, or one that decides nothing.
};

/// Connects to a liveness listener and reports the result, once, on the
/// reactor's thread.
/// @param deadline > 0
/// @returns the probe; its destructor gives up, and the callback is not called
[[nodiscard]] reactor_handle probe(reactor& home, const socket_address& where,
                                   core::duration deadline,
                                   std::function<void(liveness)> on_done);

} // namespace actorrun::detail
