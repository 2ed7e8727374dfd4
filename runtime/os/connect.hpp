// Connects a socket without blocking.
#pragma once

#include "runtime/os/reactor.hpp"
#include "runtime/os/socket_address.hpp"
#include "runtime/os/unique_fd.hpp"

#include <functional>

namespace actorrun::detail {

/// Connects to one address; its owner limits the time. On the reactor's thread
/// only. Its destructor gives up.
class dial {
public:
  /// `error` is an errno; if it is 0, the descriptor is connected and does not
  /// block. The callback may destroy the dial.
  using callback = std::function<void(int error, unique_fd connection)>;

  /// Calls `on_done` once, and never before the constructor returns.
  dial(reactor& home, const socket_address& where, callback on_done);
  ~dial();

  dial(const dial&) = delete;
  dial& operator=(const dial&) = delete;

private:
  void on_writable();
  void finish(int error);

  reactor& home_;
  unique_fd fd_;
  callback on_done_;
  bool watched_ = false;
  reactor::timer soon_ = 0;
};

} // namespace actorrun::detail
