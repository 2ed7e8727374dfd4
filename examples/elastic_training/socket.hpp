// TCP with a limit for every wait.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

namespace training {

/// No call waits past this moment, nor much longer once the wait is of no use.
struct limit {
  std::chrono::steady_clock::time_point until;
  const std::function<bool()>& is_off; ///< Asked at least every 50 ms.
};

/// Owns one descriptor.
class socket_handle {
public:
  explicit socket_handle(int descriptor) : descriptor_(descriptor) {}
  socket_handle(socket_handle&& other) noexcept;
  socket_handle& operator=(socket_handle&& other) noexcept;
  ~socket_handle();

  int get() const { return descriptor_; }

private:
  int descriptor_;
};

/// Listens only at that address; ends the process if it cannot.
/// @param backlog  maximum number of peers that wait to be accepted
socket_handle listen_at(const std::string& host, uint16_t port, int backlog);

/// @returns nothing if no peer has connected within the limit
std::optional<socket_handle> accept_within(const limit& x,
                                           const socket_handle& listener);

/// Connects, and tries again until a peer listens there.
/// @returns nothing if none does within the limit
std::optional<socket_handle>
connect_within(const limit& x, const std::string& host, uint16_t port);

/// @returns false if the peer is gone, or the limit has passed
bool send_all(const limit& x, const socket_handle& peer,
              std::span<const std::byte> bytes);
bool receive_all(const limit& x, const socket_handle& peer,
                 std::span<std::byte> bytes);

} // namespace training
