// What all parts of the door share: they live on the reactor's thread and end
// with their owner, on whatever thread that is.
#pragma once

#include "runtime/os/reactor.hpp"

#include <memory>

namespace actorrun::detail {

/// Something that watches and waits on a reactor.
class door_part {
public:
  virtual ~door_part() = default;

  /// Called once, on the reactor's thread, unless `stop` came first.
  virtual void start() = 0;

  /// Ends every watch and timer and closes what is open; no callback is called
  /// from then on. On the reactor's thread; more than once is fine.
  virtual void stop() = 0;
};

/// Owns a part: when it goes, the part has stopped. Its destructor waits for
/// the reactor's thread, so hold no lock that a callback of the part takes.
class door_handle {
public:
  door_handle() = default;

  /// Starts `part` soon. @pre `home` outlives the handle
  door_handle(reactor& home, std::shared_ptr<door_part> part);

  door_handle(door_handle&& other) noexcept = default;
  door_handle& operator=(door_handle&& other) noexcept;
  ~door_handle() { reset(); }

  /// Stops the part now.
  void reset();

  explicit operator bool() const { return part_ != nullptr; }

private:
  reactor* home_ = nullptr;
  std::shared_ptr<door_part> part_;
};

/// Runs `fn` on the reactor's thread and returns when it is done.
void run_and_wait(reactor& home, const reactor::task& fn);

} // namespace actorrun::detail
