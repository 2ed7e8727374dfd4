// Asks the system for the addresses of a name without blocking the reactor.
#pragma once

#include "messages/result.hpp"
#include "runtime/os/reactor.hpp"
#include "runtime/os/socket_address.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace actorrun::detail {

/// Threads of this process that may be inside the resolver at one time; a dead
/// name server holds each for many seconds. Further names wait their turn.
inline constexpr size_t resolver_threads_max = 4;

/// Names that may wait for a thread.
inline constexpr size_t resolver_queue_max = 256;

/// One question to the resolver. On the reactor's thread only. Going, it no
/// longer waits for the answer; the thread that asks ends by itself.
class resolution {
public:
  using callback = std::function<void(result<std::vector<socket_address>>)>;

  /// Calls `on_done` once and never from within; it may end the resolution.
  /// A numeric host needs no thread.
  resolution(reactor& home, const std::string& host, uint16_t port,
             callback on_done);
  ~resolution();

  resolution(const resolution&) = delete;
  resolution& operator=(const resolution&) = delete;

  struct question;

private:
  std::shared_ptr<question> question_;
};

} // namespace actorrun::detail
