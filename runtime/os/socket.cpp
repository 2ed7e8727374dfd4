#include "runtime/os/socket.hpp"

#include "messages/formatted.hpp"
#include "runtime/os/resource_limits.hpp"

#include <cerrno>
#include <cstdio>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace actorrun::detail {

namespace {

// At most this many connections wait to be accepted, and no more than the system's
// somaxconn: when a coordinator is started again, all agents come at the same moment,
// and one that finds no place asks again after a second, when its fence has fallen.
constexpr int backlog = 4'096;

constexpr int keep_alive_idle_s = 10;
constexpr int keep_alive_interval_s = 5;
constexpr int keep_alive_count = 3;
constexpr int unacknowledged_ms = 10'000;

void set_option(int fd, int level, int name, int value) {
  // Best effort: the connection works without it.
  ::setsockopt(fd, level, name, &value, sizeof(value));
}

unique_fd new_socket(int family, int type = SOCK_STREAM) {
  return unique_fd{::socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
}

failure listen_failure(const std::string& where, int error) {
  if (error == EADDRINUSE)
    return {
      errc::address_in_use,
      formatted("another program listens on {}; end it or choose another port",
                where)};
  if (error == EADDRNOTAVAIL)
    return {errc::cannot_listen,
            formatted("cannot listen on {}: it is not an address of this host; "
                      "choose one that is",
                      where)};
  return {errc::cannot_listen,
          formatted("cannot listen on {}: {}; choose another address or port",
                    where, system_error_text(error))};
}

} // namespace

result<unique_fd> open_listening(const socket_address& where) {
  auto fd = new_socket(where.family());
  if (!fd)
    return listen_failure(to_string(where), errno);
  set_option(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  // The IPv6 wildcard accepts IPv4 too; other addresses are not affected.
  if (where.family() == AF_INET6)
    set_option(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
  if (::bind(fd.get(), where.get(), where.size) != 0
      || ::listen(fd.get(), backlog) != 0)
    return listen_failure(to_string(where), errno);
  return fd;
}

result<unique_fd> open_listening_unix(const std::string& path, int type) {
  const auto unready = path + "~";
  const auto where = unix_address(unready);
  if (!where)
    return where.error();
  ::unlink(unready.c_str());
  auto fd = new_socket(AF_UNIX, type);
  if (!fd || ::bind(fd.get(), where->get(), where->size) != 0)
    return listen_failure(path, errno);
  if (::chmod(unready.c_str(), S_IRUSR | S_IWUSR) != 0
      || ::listen(fd.get(), backlog) != 0
      || ::rename(unready.c_str(), path.c_str()) != 0) {
    const auto error = errno;
    ::unlink(unready.c_str());
    return listen_failure(path, error);
  }
  return fd;
}

void tune_connection(int fd) {
  const auto local = local_address_of(fd);
  if (!local || local->family() == AF_UNIX)
    return;
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, keep_alive_idle_s);
  set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, keep_alive_interval_s);
  set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, keep_alive_count);
  set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, unacknowledged_ms);
}

bool is_connected_to_itself(int fd) {
  const auto local = local_address_of(fd);
  const auto remote = remote_address_of(fd);
  return local && remote && same_address(*local, *remote);
}

bool send_whole(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR)
      continue;
    if (sent <= 0)
      return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

} // namespace actorrun::detail
