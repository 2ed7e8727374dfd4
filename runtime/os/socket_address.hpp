// Parses, prints and resolves addresses of sockets.
#pragma once

#include "messages/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <sys/socket.h>

namespace actorrun::detail {

/// An IPv4, IPv6 or Unix address as the system takes it.
struct socket_address {
  sockaddr_storage storage{};
  socklen_t size = 0;

  const sockaddr* get() const {
    return reinterpret_cast<const sockaddr*>(&storage);
  }

  int family() const { return storage.ss_family; }
};

/// `10.0.0.1:29400`, `[fe80::1%eth0]:29400`, or a path.
std::string to_string(const socket_address& x);

/// The host alone, numeric: `10.0.0.1`. Empty for a Unix address.
std::string host_of(const socket_address& x);

/// 0 for a Unix address.
uint16_t port_of(const socket_address& x);

bool is_loopback(const socket_address& x);

/// Whether host and port are the same.
bool same_address(const socket_address& a, const socket_address& b);

/// This end's and the other end's address of a socket; none if it has none.
std::optional<socket_address> local_address_of(int fd);
std::optional<socket_address> remote_address_of(int fd);

/// None if `host` is a name. Never blocks.
std::optional<socket_address> numeric_address(const std::string& host,
                                              uint16_t port);

/// @retval errc::cannot_listen  the path is longer than a Unix address may be
result<socket_address> unix_address(const std::string& path);

/// All addresses of a host, best first, without duplicates; 1..16 of them.
/// Blocks for as long as the system's resolver does: do not call it on the
/// reactor's thread.
/// @retval errc::unresolvable  there is none; the text names the host
result<std::vector<socket_address>> resolve(const std::string& host,
                                            uint16_t port);

/// The result of gethostname(2).
std::string local_host_name();

/// Whether a rendezvous endpoint's host is this machine: `localhost`, a loopback
/// address, 0.0.0.0, our host name, or a name or number that leads to one of our
/// interfaces. Blocks like `resolve`.
/// @see PyTorch's torch/distributed/elastic/rendezvous/utils.py,
///      `_matches_machine_hostname`
bool names_this_host(const std::string& host);

/// Where to listen for peers that connect to `host`: its first address that is
/// ours. A name that has loopback addresses only, although it is neither
/// `localhost` nor a number (Debian's 127.0.1.1 line in /etc/hosts), stands for
/// all addresses of this machine, because other hosts resolve it to another
/// one. Blocks like `resolve`.
/// @param port 0: the system chooses.
/// @retval errc::unresolvable  the host has no address
result<socket_address> listen_address(const std::string& host, uint16_t port);

} // namespace actorrun::detail
