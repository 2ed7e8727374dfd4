#include "runtime/os/socket_address.hpp"

#include "messages/formatted.hpp"
#include "runtime/os/host_addresses.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <cstring>
#include <memory>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <strings.h>
#include <sys/un.h>
#include <unistd.h>

namespace actorrun::detail {

namespace {

// At most this many addresses of a name are tried.
constexpr size_t addresses_max = 16;

socket_address copy_of(const sockaddr* address, socklen_t size) {
  auto out = socket_address{};
  out.size = std::min<socklen_t>(size, sizeof(out.storage));
  std::memcpy(&out.storage, address, out.size);
  return out;
}

template <class T>
const T& as(const socket_address& x) {
  return reinterpret_cast<const T&>(x.storage);
}

template <class T>
T& as(socket_address& x) {
  return reinterpret_cast<T&>(x.storage);
}

using address_list = std::vector<socket_address>;

// The addresses of getaddrinfo without duplicates; `error` is its result.
address_list look_up(const std::string& host, uint16_t port, int flags,
                     int& error) {
  auto hints = addrinfo{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  error
    = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0)
    return {};
  const auto list = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>{
    found, &::freeaddrinfo};
  auto out = address_list{};
  for (auto* i = found; i && out.size() < addresses_max; i = i->ai_next) {
    const auto address = copy_of(i->ai_addr, i->ai_addrlen);
    if (std::none_of(out.begin(), out.end(),
                     [&](const auto& x) { return same_address(x, address); }))
      out.push_back(address);
  }
  return out;
}

address_list interface_addresses() {
  auto out = address_list{};
  ifaddrs* found = nullptr;
  if (::getifaddrs(&found) != 0)
    return out;
  const auto list
    = std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)>{found, &::freeifaddrs};
  for (auto* i = found; i; i = i->ifa_next) {
    if (!i->ifa_addr)
      continue;
    if (i->ifa_addr->sa_family == AF_INET)
      out.push_back(copy_of(i->ifa_addr, sizeof(sockaddr_in)));
    else if (i->ifa_addr->sa_family == AF_INET6)
      out.push_back(copy_of(i->ifa_addr, sizeof(sockaddr_in6)));
  }
  return out;
}

bool same_host(const socket_address& a, const socket_address& b) {
  if (a.family() != b.family())
    return false;
  if (a.family() == AF_INET)
    return as<sockaddr_in>(a).sin_addr.s_addr
           == as<sockaddr_in>(b).sin_addr.s_addr;
  return a.family() == AF_INET6
         && std::memcmp(&as<sockaddr_in6>(a).sin6_addr,
                        &as<sockaddr_in6>(b).sin6_addr, sizeof(in6_addr))
              == 0;
}

// Loopback counts whether an interface lists it or not: 127.0.1.1 is in none.
bool is_ours(const socket_address& x, const address_list& interfaces) {
  return is_loopback(x)
         || std::any_of(interfaces.begin(), interfaces.end(),
                        [&](const auto& y) { return same_host(x, y); });
}

bool same_name(const std::string& a, const std::string& b) {
  return ::strcasecmp(a.c_str(), b.c_str()) == 0;
}

template <class Call>
std::optional<socket_address> name_of(int fd, Call call) {
  auto out = socket_address{};
  out.size = sizeof(out.storage);
  if (call(fd, reinterpret_cast<sockaddr*>(&out.storage), &out.size) != 0)
    return std::nullopt;
  return out;
}

} // namespace

std::string host_of(const socket_address& x) {
  auto host = std::array<char, NI_MAXHOST>{};
  if (x.family() == AF_UNIX
      || ::getnameinfo(x.get(), x.size, host.data(), host.size(), nullptr, 0,
                       NI_NUMERICHOST)
           != 0)
    return {};
  return host.data();
}

uint16_t port_of(const socket_address& x) {
  if (x.family() == AF_INET)
    return ntohs(as<sockaddr_in>(x).sin_port);
  return x.family() == AF_INET6 ? ntohs(as<sockaddr_in6>(x).sin6_port) : 0;
}

std::string to_string(const socket_address& x) {
  if (x.family() == AF_UNIX)
    return as<sockaddr_un>(x).sun_path;
  const auto host = host_of(x);
  const auto port = ":" + std::to_string(port_of(x));
  return x.family() == AF_INET6 ? "[" + host + "]" + port : host + port;
}

bool is_loopback(const socket_address& x) {
  if (x.family() == AF_INET)
    return ntohl(as<sockaddr_in>(x).sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
  if (x.family() != AF_INET6)
    return false;
  const auto& address = as<sockaddr_in6>(x).sin6_addr;
  return IN6_IS_ADDR_LOOPBACK(&address)
         || (IN6_IS_ADDR_V4MAPPED(&address)
             && address.s6_addr[12] == IN_LOOPBACKNET);
}

bool same_address(const socket_address& a, const socket_address& b) {
  return same_host(a, b) && port_of(a) == port_of(b);
}

std::optional<socket_address> local_address_of(int fd) {
  return name_of(fd, ::getsockname);
}

std::optional<socket_address> remote_address_of(int fd) {
  return name_of(fd, ::getpeername);
}

std::optional<socket_address> numeric_address(const std::string& host,
                                              uint16_t port) {
  auto error = 0;
  const auto found = host.empty() ? address_list{}
                                  : look_up(host, port, AI_NUMERICHOST, error);
  return found.empty() ? std::nullopt : std::optional{found.front()};
}

result<socket_address> unix_address(const std::string& path) {
  auto out = socket_address{};
  auto& address = as<sockaddr_un>(out);
  if (path.empty() || path.size() >= sizeof(address.sun_path))
    return failure{errc::cannot_listen,
                   formatted("the socket path {} has more than {} characters; "
                             "set ACTORRUN_RUN_DIR to a shorter one",
                             path, sizeof(address.sun_path) - 1)};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  out.size = sizeof(address);
  return out;
}

result<std::vector<socket_address>> resolve(const std::string& host,
                                            uint16_t port) {
  auto error = 0;
  auto found = host.empty() ? address_list{} : look_up(host, port, 0, error);
  if (!found.empty())
    return found;
  const auto why
    = std::string{error == 0 ? "it is empty" : ::gai_strerror(error)};
  return failure{
    errc::unresolvable,
    formatted("host \"{}\" has no address ({}); check its spelling and DNS",
              host, why)};
}

std::string local_host_name() {
  auto name = std::array<char, HOST_NAME_MAX + 1>{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

bool names_this_host(const std::string& host) {
  if (host.empty())
    return false;
  if (same_name(host, "localhost") || same_name(host, local_host_name())
      || is_any_address(host))
    return true;
  const auto found = resolve(host, 0);
  if (!found)
    return false;
  const auto interfaces = interface_addresses();
  return std::any_of(found->begin(), found->end(),
                     [&](const auto& x) { return is_ours(x, interfaces); });
}

result<socket_address> listen_address(const std::string& host, uint16_t port) {
  if (const auto number = numeric_address(host, port))
    return *number;
  const auto found = resolve(host, port);
  if (!found)
    return found.error();
  if (!same_name(host, "localhost")
      && std::all_of(found->begin(), found->end(), is_loopback))
    return wildcard_address(port);
  // Other hosts cannot reach a loopback address that is listed beside a real
  // one. An address of another host cannot be bound; the listener reports that.
  const auto interfaces = interface_addresses();
  const auto ours
    = std::find_if(found->begin(), found->end(), [&](const auto& x) {
        return is_ours(x, interfaces)
               && (same_name(host, "localhost") || !is_loopback(x));
      });
  return ours == found->end() ? found->front() : *ours;
}

} // namespace actorrun::detail
