// The side of the door that faces the network, or other processes on this host:
// lets in who belongs to the job and keeps everybody else away from CAF.
#pragma once

#include "actors/core/time.hpp"
#include "messages/result.hpp"
#include "runtime/network/frames.hpp"
#include "runtime/network/keys.hpp"
#include "runtime/network/rejected_peers.hpp"
#include "runtime/os/reactor.hpp"
#include "runtime/os/socket_address.hpp"
#include "runtime/os/unique_fd.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace actorrun::detail {

/// Who has come in.
struct peer {
  std::string id; ///< The agent's id, or who the operator is.
  purpose intent = purpose::join;
  std::string address; ///< `10.0.0.2:40112`, or `pid 4711 (uid 1000)`.
};

/// What strangers can cost at most.
struct listener_limits {
  /// Peers that have not proven themselves yet, ≥ 1. Beyond, the oldest that
  /// has said nothing goes, so mute connections do not keep an agent out.
  size_t half_open_max = 64;
  /// The whole handshake takes no longer than this, > 0.
  core::duration handshake = std::chrono::seconds{2};
  /// Strangers are reported at most once in so long.
  core::duration report_interval = std::chrono::seconds{10};
};

/// Both are called on the reactor's thread and must not block.
struct listener_callbacks {
  /// Takes an authenticated connection: non-blocking, and not a byte is read
  /// beyond the handshake.
  std::function<void(unique_fd connection, peer who)> on_peer;
  /// May be empty.
  std::function<void(const rejection_report&)> on_rejections;
};

/// Listens for as long as it lives. Once it is gone no callback is called; it
/// may go within one. See `reactor_handle` for what its destructor waits for.
class listener {
public:
  /// Listens on TCP, on this address alone; both sides prove the secret.
  /// @param where Port 0: the system chooses; see `port`.
  /// @retval errc::address_in_use  another program listens there
  /// @retval errc::cannot_listen   the system refuses for another reason
  static result<listener> listen(reactor& home, const socket_address& where,
                                 const credentials& mine,
                                 listener_callbacks callbacks,
                                 const listener_limits& limits = {});

  /// Listens on a Unix socket; lets in who is of our user, or root. Removes the
  /// socket when it goes.
  /// @param path See `run_folder::socket_path`. What is there is replaced.
  ///             A folder that another job has tidied away is made again.
  /// @retval errc::cannot_listen  the path is too long or the system refuses
  static result<listener> listen_unix(reactor& home, const std::string& path,
                                      const credentials& mine,
                                      listener_callbacks callbacks,
                                      const listener_limits& limits = {});

  /// Where it listens: `10.0.0.1:29400`, or the path.
  const std::string& address() const { return address_; }

  /// The port it listens on; 0 for a Unix socket.
  uint16_t port() const { return port_; }

private:
  listener(reactor_handle handle, std::string address, uint16_t port)
    : handle_(std::move(handle)), address_(std::move(address)), port_(port) {}

  reactor_handle handle_;
  std::string address_;
  uint16_t port_;
};

} // namespace actorrun::detail
