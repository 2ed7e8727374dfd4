// Listens for peers of a job and authenticates them, so that no other program
// reaches its actors.
#pragma once

#include "actors/core/time.hpp"
#include "messages/result.hpp"
#include "runtime/network/frames.hpp"
#include "runtime/network/handshake.hpp"
#include "runtime/network/keys.hpp"
#include "runtime/network/rejected_peers.hpp"
#include "runtime/os/reactor.hpp"
#include "runtime/os/socket_address.hpp"
#include "runtime/os/unique_fd.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace actorrun::detail {

/// An authenticated peer.
struct peer {
  shared_text id; ///< The agent's id, or the operator's.
  purpose intent = purpose::join;
  std::string address; ///< `10.0.0.2:40112`, or `pid 4711 (uid 1000)`.
  std::string host{};  ///< `10.0.0.2`; empty on a Unix socket.
  std::optional<link_key> key{};       ///< None on a Unix socket.
  uint16_t version = protocol_version; ///< Of the protocol, that both know.
};

/// Limits what unauthenticated peers can cost.
struct listener_limits {
  /// At most this many pending peers, ≥ 1. Beyond that, the oldest that has sent
  /// nothing is closed, so silent connections do not keep an agent out.
  size_t half_open_max = 64;
  /// Timeout of the whole handshake, > 0.
  core::duration handshake = std::chrono::seconds{2};
  /// Minimum interval between reports of rejected peers.
  core::duration report_interval = std::chrono::seconds{10};
};

/// The first two are called on the reactor's thread and must not block.
struct listener_callbacks {
  /// Takes an authenticated connection, which does not block; no byte beyond
  /// the handshake has been read.
  std::function<void(unique_fd connection, peer who)> on_peer;
  /// May be empty.
  std::function<void(const rejection_report&)> on_rejections;
  /// Called once, by the thread that calls `listen`: the port is ours, and no
  /// peer has been accepted yet. May be empty; a Unix socket does not call it.
  /// @param incarnation What peers will know this listener by.
  std::function<void(int socket, const nonce_bytes& incarnation)>
    on_listening{};
  /// The resumption key of the link that an agent has now, if it has one: another process
  /// that claims its id is refused. On the reactor's thread; may be empty.
  server_handshake::resumption_finder resumption_of{};
  /// Takes a connection from `address` (its host without the port: `host`) that
  /// begins as those of torch's store do; no byte of it has been read. On the
  /// reactor's thread; may be empty: such peers are refused.
  /// @returns why it was not taken: `is …`; empty: it was
  std::function<std::string(unique_fd connection, const std::string& address,
                            const std::string& host)>
    on_store_client{};
};

/// Listens as long as it lives. A callback may destroy it; no callback is
/// called afterwards. See `reactor_handle` for what its destructor waits for.
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

  /// Listens on a Unix socket; accepts processes of our user and of root. Its
  /// destructor removes the socket.
  /// @param path See `run_folder::socket_path`. An existing socket is replaced.
  ///             A folder that another job has removed is made again.
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
