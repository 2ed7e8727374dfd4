// Resolves host names without blocking the reactor.
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

/// At most this many threads of this process resolve at one time; a dead name
/// server blocks each for many seconds. Further names wait in a queue.
inline constexpr size_t resolver_threads_max = 4;

/// At most this many names wait for a thread.
inline constexpr size_t resolver_queue_max = 256;

/// One request to the resolver. On the reactor's thread only. Its destructor
/// abandons the answer; the resolving thread ends by itself.
class resolution {
public:
  using callback = std::function<void(result<std::vector<socket_address>>)>;

  /// Calls `on_done` once, and never before the constructor returns; it may
  /// destroy the resolution. A numeric host needs no thread.
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
