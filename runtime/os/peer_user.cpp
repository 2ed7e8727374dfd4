#include "runtime/os/peer_user.hpp"

#include "runtime/os/socket_address.hpp"
#include "runtime/os/unique_fd.hpp"

#include <cstring>

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

namespace actorrun::detail {

namespace {

struct question {
  nlmsghdr head{};
  inet_diag_req_v2 body{};
};

struct answer {
  nlmsghdr head{};
  inet_diag_msg body{};
};

/// As `inet_diag_sockid` has them: in network order, an IPv4 address in front.
struct end_of_connection {
  uint16_t family = 0;
  uint16_t port = 0;
  uint32_t address[4] = {};

  friend bool operator==(const end_of_connection&, const end_of_connection&)
    = default;
};

/// A socket of both families has IPv4 addresses in their IPv6 form. The other end is
/// an IPv4 socket, as a rule.
end_of_connection plain(end_of_connection x) {
  auto address = in6_addr{};
  std::memcpy(&address, x.address, sizeof address);
  if (x.family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&address))
    return x;
  return {AF_INET, x.port, {x.address[3], 0, 0, 0}};
}

template <class GetName>
std::optional<end_of_connection> end_by(GetName get_name, int fd) {
  auto name = sockaddr_storage{};
  auto size = socklen_t{sizeof name};
  if (get_name(fd, reinterpret_cast<sockaddr*>(&name), &size) != 0)
    return std::nullopt;
  auto out = end_of_connection{};
  out.family = name.ss_family;
  if (name.ss_family == AF_INET) {
    auto x = sockaddr_in{};
    std::memcpy(&x, &name, sizeof x);
    out.port = x.sin_port;
    std::memcpy(out.address, &x.sin_addr, sizeof x.sin_addr);
    return out;
  }
  if (name.ss_family != AF_INET6)
    return std::nullopt;
  auto x = sockaddr_in6{};
  std::memcpy(&x, &name, sizeof x);
  out.port = x.sin6_port;
  std::memcpy(out.address, &x.sin6_addr, sizeof x.sin6_addr);
  return plain(out);
}

/// Whether the socket that the system told of has these two ends. For want of one the
/// system tells of a socket that listens on the port.
bool has_ends(const inet_diag_msg& found, const end_of_connection& its_own,
              const end_of_connection& its_peer) {
  auto here = end_of_connection{found.idiag_family, found.id.idiag_sport, {}};
  auto there = end_of_connection{found.idiag_family, found.id.idiag_dport, {}};
  std::memcpy(here.address, found.id.idiag_src, sizeof here.address);
  std::memcpy(there.address, found.id.idiag_dst, sizeof there.address);
  return found.idiag_state != TCP_LISTEN && plain(here) == its_own
         && plain(there) == its_peer;
}

/// Asks for the one socket with these two ends.
std::optional<uid_t> owner_of(const end_of_connection& its_own,
                              const end_of_connection& its_peer) {
  const auto line = unique_fd{
    ::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG)};
  auto x = question{};
  x.head.nlmsg_len = sizeof x;
  x.head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  x.head.nlmsg_flags = NLM_F_REQUEST;
  x.body.sdiag_family = static_cast<uint8_t>(its_own.family);
  x.body.sdiag_protocol = IPPROTO_TCP;
  x.body.idiag_states = ~0U;
  x.body.id.idiag_sport = its_own.port;
  x.body.id.idiag_dport = its_peer.port;
  std::memcpy(x.body.id.idiag_src, its_own.address, sizeof its_own.address);
  std::memcpy(x.body.id.idiag_dst, its_peer.address, sizeof its_peer.address);
  x.body.id.idiag_cookie[0] = INET_DIAG_NOCOOKIE;
  x.body.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  if (::send(line.get(), &x, sizeof x, 0) != ssize_t{sizeof x})
    return std::nullopt;
  auto y = answer{};
  const auto got = ::recv(line.get(), &y, sizeof y, MSG_DONTWAIT);
  if (got != ssize_t{sizeof y} || y.head.nlmsg_type != SOCK_DIAG_BY_FAMILY
      || !has_ends(y.body, its_own, its_peer))
    return std::nullopt;
  return y.body.idiag_inode == 0 ? no_user : y.body.idiag_uid;
}

} // namespace

std::optional<uid_t> user_of_peer(int fd) {
  const auto here = end_by(::getsockname, fd);
  const auto there = end_by(::getpeername, fd);
  if (!here || !there || here->family != there->family)
    return std::nullopt;
  return owner_of(*there, *here);
}

bool is_trusted(uid_t user) {
  return user == 0 || user == ::geteuid();
}

} // namespace actorrun::detail
