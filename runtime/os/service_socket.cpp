#include "runtime/os/service_socket.hpp"

#include "messages/formatted.hpp"
#include "runtime/os/resource_limits.hpp"

#include <cerrno>
#include <cstddef>
#include <cstring>

#include <sys/un.h>

namespace actorrun::detail {

namespace {

/// A name of the abstract namespace begins with a zero byte, and the size of the
/// address says where it ends.
result<socket_address> address_of(const std::string& text) {
  auto address = sockaddr_un{};
  address.sun_family = AF_UNIX;
  const auto is_abstract = text.starts_with('@');
  if ((!is_abstract && !text.starts_with('/')) || text.size() < 2)
    return bad_argument(
      formatted("'{}' is neither an absolute path nor @ and a name", text));
  if (text.size() >= sizeof address.sun_path)
    return bad_argument(formatted("'{}' has more than {} characters", text,
                                  sizeof address.sun_path - 1));
  std::memcpy(address.sun_path, text.data(), text.size());
  auto size = offsetof(sockaddr_un, sun_path) + text.size();
  if (is_abstract)
    address.sun_path[0] = '\0';
  else
    ++size; // The zero byte behind a path.
  auto out = socket_address{};
  std::memcpy(&out.storage, &address, sizeof address);
  out.size = static_cast<socklen_t>(size);
  return out;
}

} // namespace

result<service_socket> service_socket::open(const std::string& address) {
  const auto to = address_of(address);
  if (!to)
    return to.error();
  auto fd = unique_fd{
    ::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
  if (!fd)
    return failure{errc::cannot_listen,
                   formatted("there is no socket to notify {}: {}", address,
                             system_error_text(errno))};
  return service_socket{*to, std::move(fd)};
}

int service_socket::send(std::string_view text) const {
  for (;;) {
    const auto sent = ::sendto(fd_.get(), text.data(), text.size(),
                               MSG_NOSIGNAL, to_.get(), to_.size);
    if (sent >= 0)
      return 0;
    if (errno != EINTR)
      return errno;
  }
}

} // namespace actorrun::detail
