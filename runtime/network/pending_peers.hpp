// Owns the connections between their accept and the end of their handshake, and
// limits their number and their time.
#pragma once

#include "actors/core/store/opening.hpp"
#include "runtime/network/handshake.hpp"
#include "runtime/network/listener.hpp"
#include "runtime/network/munge_queue.hpp"
#include "runtime/network/rejected_peers.hpp"
#include "runtime/os/acceptor.hpp"
#include "runtime/os/reactor.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

namespace actorrun::detail {

/// One listening socket and its pending peers. Everything but the constructor
/// runs on the reactor's thread.
class pending_peers : public reactor_part,
                      public std::enable_shared_from_this<pending_peers> {
public:
  /// @param path Removed at the end; empty for TCP.
  pending_peers(reactor& home, unique_fd socket, std::string path,
                const credentials& mine, const nonce_bytes& incarnation,
                listener_callbacks callbacks, const listener_limits& limits);

  void start() override;
  void stop() override;

private:
  using connection_id = uint64_t; // Grows, so the map is ordered by age.
  using opening = core::store_opening::verdict;

  struct pending_peer {
    unique_fd fd;
    server_handshake talk;
    trust how;
    std::string address;
    std::string host;
    reactor::timer deadline = 0;
    size_t ignored_size = 0; // Bytes read from a refused peer.
    size_t wanted = 1;       // Bytes that must be there until we look again.
    std::optional<munge_call> call{}; // Not watched meanwhile.
  };

  void on_accept(unique_fd fd, const socket_address& remote);
  void on_ready(connection_id number, bool is_complete);
  void watch(connection_id number);
  void shake_hands(connection_id number);
  void ask_munge(connection_id number);
  void on_munge(connection_id number, const result<std::string>& done);
  void on_settled(connection_id number);
  void on_refused(connection_id number);
  void on_closed(connection_id number);
  void on_late(connection_id number);
  void on_munge_late(connection_id number);
  void linger(connection_id number);
  void admit(connection_id number);
  opening opening_of(pending_peer& x);
  bool may_be_store_client(const pending_peer& x) const;
  void pass_on(connection_id number);
  bool make_room();
  pending_peer take(connection_id number);
  bool of_this_host() const { return !path_.empty(); }

  reactor& home_;
  std::string path_;
  credentials mine_;
  nonce_bytes incarnation_;
  listener_callbacks callbacks_;
  listener_limits limits_;
  rejected_peers rejected_;
  std::shared_ptr<acceptor> acceptor_;
  std::map<connection_id, pending_peer> peers_;
  std::set<std::string> store_hosts_; ///< From which clients were passed on.
  connection_id last_connection_id_ = 0;
  bool stopped_ = false;
};

} // namespace actorrun::detail
