// Sends datagrams to the service manager that has started this process.
#pragma once

#include "messages/result.hpp"
#include "runtime/os/socket_address.hpp"
#include "runtime/os/unique_fd.hpp"

#include <string>
#include <string_view>

namespace actorrun::detail {

/// The sending half of sd_notify(3), for systemd and for what speaks as it does.
/// May be used by one thread at a time.
class service_socket {
public:
  /// @param address An absolute path, or `@` and a name of the abstract namespace.
  /// @retval errc::bad_argument   the address has another form, or is too long
  /// @retval errc::cannot_listen  the system has no socket left
  static result<service_socket> open(const std::string& address);

  /// Sends one datagram. Does not block.
  /// @param text Lines `NAME=value`.
  /// @returns 0 or an errno; with EAGAIN the manager does not keep up
  int send(std::string_view text) const;

private:
  service_socket(socket_address to, unique_fd fd)
    : to_(to), fd_(std::move(fd)) {}

  socket_address to_;
  unique_fd fd_;
};

} // namespace actorrun::detail
