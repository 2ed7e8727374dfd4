// Owns the clients of one port.
#pragma once

#include "runtime/http/connection.hpp"
#include "runtime/os/acceptor.hpp"
#include "runtime/os/reactor.hpp"
#include "runtime/os/unique_fd.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>

namespace actorrun::detail {

/// Answers a request; calls the callback once, now or later. On the reactor's
/// thread.
using http_service = std::function<void(const http_request&, http_callback)>;

/// Everything but the constructor runs on the reactor's thread.
class http_server : public reactor_part {
public:
  /// @param socket Listens and does not block.
  http_server(reactor& home, unique_fd socket, http_service service,
              const http_limits& limits = {});

  void start() override;
  void stop() override;

  /// Sends an event to all streams.
  void publish(const http_body& event);

  size_t stream_count() const;
  size_t client_count() const { return clients_.size(); }

private:
  void add(unique_fd client);
  void answer(const http_request& x, http_callback done);
  bool make_room();

  reactor& home_;
  http_service service_;
  const http_limits limits_;
  std::shared_ptr<acceptor> acceptor_;
  std::map<uint64_t, std::shared_ptr<http_connection>> clients_;
  uint64_t last_client_ = 0;
};

} // namespace actorrun::detail
