// TCP with a deadline for every call.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace training {

using deadline = std::chrono::steady_clock::time_point;

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

/// @returns nothing if no peer has connected by the deadline
std::optional<socket_handle> accept_until(const socket_handle& listener,
                                          deadline until);

/// Connects, and tries again until a peer listens there.
/// @returns nothing if none does by the deadline
std::optional<socket_handle> connect_until(const std::string& host,
                                           uint16_t port, deadline until);

/// Limits how long `send_all` and `receive_all` wait for the peer.
void set_timeout(const socket_handle& peer, std::chrono::milliseconds x);

/// @returns false if the peer is gone or silent for too long
bool send_all(const socket_handle& peer, std::span<const std::byte> bytes);
bool receive_all(const socket_handle& peer, std::span<std::byte> bytes);

} // namespace training
