// Learns whether another process has ended: it listens on a port, where its
// machine says so in its place (see `tombstone.hpp`).
#pragma once

#include "actors/core/time.hpp"
#include "messages/result.hpp"
#include "runtime/os/reactor.hpp"
#include "runtime/os/socket_address.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace actorrun::detail {

/// Where another process can learn that this one has ended. While it lives, it
/// accepts connections and closes them at once, which says nothing.
class liveness_listener {
public:
  /// Listens on `host`, on a port that the system chooses.
  /// @param host A numeric address of this machine.
  /// @param keep Takes the socket, before anyone can learn its port.
  /// @retval errc::cannot_listen  it is no such address, or the system refuses
  static result<liveness_listener>
  listen(reactor& home, const std::string& host,
         const std::function<void(int socket)>& keep);

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
  gone,    ///< Its machine has proved that it has ended.
  unknown, ///< The connection was refused or has ended without a proof.
  silent,  ///< Nothing came in time.
};

/// What the bytes mean that have been read so far; none: more have to come.
using statement_reader
  = std::function<std::optional<liveness>(std::string_view said)>;

/// Connects to where a process listens and reports the result, once, on the
/// reactor's thread: what its machine says in its place is given to the reader. While
/// workers of a dead process still run, it waits for their end.
/// @param deadline > 0
/// @returns the probe; its destructor gives up, and the callback is not called
[[nodiscard]] reactor_handle probe(reactor& home, const socket_address& where,
                                   statement_reader reader,
                                   core::duration deadline,
                                   std::function<void(liveness)> on_done);

/// Likewise, at a liveness listener.
/// @param tombstone What proves that the process has ended.
[[nodiscard]] reactor_handle probe(reactor& home, const socket_address& where,
                                   std::string tombstone,
                                   core::duration deadline,
                                   std::function<void(liveness)> on_done);

} // namespace actorrun::detail
