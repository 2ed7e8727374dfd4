#include "runtime/os/host_addresses.hpp"

#include "runtime/os/unique_fd.hpp"

#include <algorithm>
#include <memory>
#include <optional>

#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace actorrun::detail {

namespace {

/// Those of documents (RFC 5737, RFC 3849): no host has them, and the way there is the
/// usual one.
constexpr const char* elsewhere[] = {"192.0.2.1", "2001:db8::1"};

/// Where packets to `to` leave this machine; none are sent.
std::optional<socket_address> address_of_route(const std::string& to) {
  const auto there = *numeric_address(to, 9);
  const auto fd
    = unique_fd{::socket(there.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0)};
  if (!fd || ::connect(fd.get(), there.get(), there.size) != 0)
    return std::nullopt;
  return local_address_of(fd.get());
}

/// Not at loopback, nor at an address that needs the name of an interface.
bool is_for_others(const socket_address& x) {
  const auto host = host_of(x);
  return !host.empty() && !is_loopback(x) && host.find('%') == host.npos
         && names_this_host(host);
}

std::vector<socket_address> addresses_of_interfaces() {
  auto out = std::vector<socket_address>{};
  ifaddrs* found = nullptr;
  if (::getifaddrs(&found) != 0)
    return out;
  const auto list
    = std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)>{found, &::freeifaddrs};
  for (auto* i = found; i; i = i->ifa_next) {
    const auto family = i->ifa_addr ? i->ifa_addr->sa_family : AF_UNSPEC;
    if (family != AF_INET && family != AF_INET6)
      continue;
    auto x = socket_address{};
    x.size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    const auto* bytes = reinterpret_cast<const char*>(i->ifa_addr);
    std::copy_n(bytes, x.size, reinterpret_cast<char*>(&x.storage));
    if (is_for_others(x))
      out.push_back(x);
  }
  return out;
}

std::string address_of_interface(int family) {
  for (const auto& x : addresses_of_interfaces())
    if (x.family() == family)
      return host_of(x);
  return {};
}

} // namespace

bool is_any_address(const std::string& host) {
  const auto x = numeric_address(host, 0);
  const auto text = x ? host_of(*x) : std::string{};
  return text == "0.0.0.0" || text == "::";
}

std::vector<std::string> addresses_for_others() {
  auto out = std::vector<std::string>{};
  for (const auto& x : addresses_of_interfaces())
    out.push_back(host_of(x));
  return out;
}

socket_address wildcard_address(uint16_t port) {
  const auto both = *numeric_address("::", port);
  const auto fd
    = unique_fd{::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP)};
  auto any_port = *numeric_address("::", 0);
  if (fd && ::bind(fd.get(), any_port.get(), any_port.size) == 0)
    return both;
  return *numeric_address("0.0.0.0", port);
}

std::string address_for_others() {
  if (const auto named = resolve(local_host_name(), 0))
    for (const auto& x : *named)
      if (is_for_others(x))
        return host_of(x);
  for (const auto* to : elsewhere)
    if (const auto x = address_of_route(to); x && is_for_others(*x))
      return host_of(*x);
  auto out = address_of_interface(AF_INET);
  return out.empty() ? address_of_interface(AF_INET6) : out;
}

std::string address_towards(const std::string& host) {
  if (const auto found = resolve(host, 0))
    for (const auto& x : *found)
      if (const auto own = address_of_route(host_of(x)))
        return host_of(*own);
  return {};
}

} // namespace actorrun::detail
