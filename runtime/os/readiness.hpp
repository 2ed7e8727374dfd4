// Tells once, when asked to, that a descriptor can be read.
#pragma once

#include "runtime/os/reactor.hpp"

#include <functional>
#include <memory>

namespace actorrun::detail {

/// A watch on the reactor that rests unless somebody waits: what is written to
/// the descriptor meanwhile costs nobody a wake-up.
class readiness {
public:
  /// @param loop Lives longer.
  /// @param fd   Stays open as long.
  readiness(reactor& loop, int fd);

  /// From then on nobody is called.
  ~readiness();

  readiness(const readiness&) = delete;
  readiness& operator=(const readiness&) = delete;

  /// Calls `fn` on the reactor's thread as soon as there is something to read.
  /// Does nothing if somebody waits already. Any thread may call.
  void call_once(std::function<void()> fn);

private:
  void arm(std::function<void()> fn);
  void on_ready();

  reactor& loop_;
  int fd_;
  std::shared_ptr<bool> alive_; ///< What follows is the reactor's thread's.
  bool is_watched_ = false;
  std::function<void()> call_; ///< Empty: nobody waits.
};

} // namespace actorrun::detail
