// Owns the connections between the accept and the end of their handshake: the
// hall behind the door, with few seats and nobody sitting long.
#pragma once

#include "runtime/network/handshake.hpp"
#include "runtime/network/listener.hpp"
#include "runtime/network/rejected_peers.hpp"
#include "runtime/os/acceptor.hpp"
#include "runtime/os/reactor_part.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace actorrun::detail {

/// One listening socket and all who have knocked on it. Everything but the
/// constructor runs on the reactor's thread.
class door_hall : public door_part,
                  public std::enable_shared_from_this<door_hall> {
public:
  /// @param path Removed at the end; empty for TCP.
  door_hall(reactor& home, unique_fd socket, std::string path,
            const credentials& mine, door_callbacks callbacks,
            const door_limits& limits);

  void start() override;
  void stop() override;

private:
  using ticket = uint64_t; // Grows, so the map is ordered by age.

  struct guest {
    unique_fd fd;
    server_handshake talk;
    std::string address;
    reactor::timer deadline = 0;
    size_t ignored_size = 0; // Bytes read from a refused guest.
  };

  void on_accept(unique_fd fd, const socket_address& remote);
  void on_ready(ticket number);
  void on_settled(ticket number);
  void on_refused(ticket number);
  void on_closed(ticket number);
  void on_late(ticket number);
  void linger(ticket number);
  void let_in(ticket number);
  bool make_room();
  guest take(ticket number);
  bool of_this_host() const { return !path_.empty(); }

  reactor& home_;
  std::string path_;
  credentials mine_;
  door_callbacks callbacks_;
  door_limits limits_;
  stranger_tally strangers_;
  std::shared_ptr<acceptor> acceptor_;
  std::map<ticket, guest> guests_;
  ticket last_ticket_ = 0;
  bool stopped_ = false;
};

} // namespace actorrun::detail
