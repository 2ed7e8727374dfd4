// Owns a listening socket; accepts connections without spinning, even when no
// descriptors are left.
#pragma once

#include "runtime/os/reactor.hpp"
#include "runtime/os/socket_address.hpp"
#include "runtime/os/unique_fd.hpp"

#include <functional>
#include <memory>
#include <string>

namespace actorrun::detail {

/// What an acceptor needs from its owner. All functions are called on the
/// reactor's thread.
struct acceptor_owner {
  /// Takes a new connection, non-blocking and close-on-exec.
  std::function<void(unique_fd, const socket_address& remote)> on_accept;
  /// Closes a descriptor that matters less than a new connection; false if
  /// there is none.
  std::function<bool()> make_room;
  /// Sent to a peer for which there is no descriptor.
  std::string busy_reply;
};

/// Accepts connections. When descriptors run out, it first asks its owner to
/// make room; then it uses its spare descriptor to send the busy reply and
/// close; if another thread has taken that one too, it pauses.
class acceptor : public std::enable_shared_from_this<acceptor> {
public:
  /// @param socket Listens and does not block.
  acceptor(reactor& home, unique_fd socket, acceptor_owner owner);

  /// On the reactor's thread, like everything below.
  void start();

  /// Closes the socket.
  void stop();

private:
  void on_ready();
  bool may_go_on(int error);
  bool reject();
  void pause();
  void resume();

  reactor& home_;
  unique_fd socket_;
  unique_fd spare_;
  acceptor_owner owner_;
  reactor::timer pause_ = 0;
};

} // namespace actorrun::detail
