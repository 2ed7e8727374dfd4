// One connect that blocks nobody.
#pragma once

#include "runtime/os/reactor.hpp"
#include "runtime/os/socket_address.hpp"
#include "runtime/os/unique_fd.hpp"

#include <functional>

namespace actorrun::detail {

/// Connects to one address; its owner holds the clock. On the reactor's thread
/// only. Going, it gives up.
class dial {
public:
  /// `error` is an errno, or 0 and the descriptor is connected, non-blocking.
  /// The callback may end the dial.
  using callback = std::function<void(int error, unique_fd connection)>;

  /// Calls `on_done` once and never from within.
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
