#include "runtime/store/master_port.hpp"

#include "messages/formatted.hpp"
#include "runtime/os/file.hpp"
#include "runtime/os/resource_limits.hpp"
#include "runtime/os/socket.hpp"
#include "runtime/store/entrance.hpp"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <system_error>

#include <netinet/in.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>

namespace actorrun::detail {

namespace {

/// Linux's default, if the system's range cannot be read.
constexpr auto ephemeral_default = port_range{32768, 60999};

/// At most this many ports are tried; few are in use on most machines.
constexpr uint32_t attempt_max = 1024;

constexpr uint16_t unprivileged_min = 1024;

std::atomic<uint16_t> last_given{0};

// Two numbers with white space between them: Linux writes a tab, gVisor a space.
port_range ephemeral_range() {
  constexpr auto digits = "0123456789";
  const auto text = read_kernel_file("/proc/sys/net/ipv4/ip_local_port_range");
  const auto* end = text.data() + text.size();
  auto range = port_range{};
  const auto first = std::from_chars(text.data(), end, range.first);
  const auto rest = static_cast<size_t>(first.ptr - text.data());
  const auto second = text.find_first_of(digits, rest);
  return first.ec == std::errc{} && second != text.npos
             && std::from_chars(text.data() + second, end, range.last).ec
                  == std::errc{}
           ? range
           : ephemeral_default;
}

// As soon as workers have ended, all nodes look for a port: `std::random_device`
// asks the processor what it is each time, which a virtual machine answers late.
// Where the system gives no random number, all begin at the same port.
uint32_t random_number(uint32_t bound) {
  auto drawn = uint32_t{0};
  while (::getrandom(&drawn, sizeof drawn, 0) < 0 && errno == EINTR) {
  }
  return drawn % bound;
}

// The part of `x` below and the part above `hole`.
void subtract(port_range x, port_range hole, std::vector<port_range>& out) {
  if (hole.last < x.first || hole.first > x.last) {
    out.push_back(x);
    return;
  }
  if (hole.first > x.first)
    out.push_back({x.first, static_cast<uint16_t>(hole.first - 1)});
  if (hole.last < x.last)
    out.push_back({static_cast<uint16_t>(hole.last + 1), x.last});
}

template <class Address>
int try_bind(int socket, const Address& address) {
  const auto* plain = reinterpret_cast<const sockaddr*>(&address);
  return ::bind(socket, plain, sizeof address) == 0 ? 0 : errno;
}

// Both families at once, as a worker that listens on the wildcard address.
// Without SO_REUSEADDR, so a port with connections that linger is not free.
bool is_free(uint16_t port) {
  constexpr auto type = SOCK_STREAM | SOCK_CLOEXEC;
  if (auto six = unique_fd{::socket(AF_INET6, type, 0)}) {
    const auto off = 0;
    ::setsockopt(six.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    auto address = sockaddr_in6{};
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(port);
    const auto error = try_bind(six.get(), address);
    if (error != EADDRNOTAVAIL) // IPv6 is there but switched off.
      return error == 0;
  }
  auto four = unique_fd{::socket(AF_INET, type, 0)};
  auto address = sockaddr_in{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  return try_bind(four.get(), address) == 0;
}

std::optional<port_reservation> try_reserve(uint16_t port) {
  auto lock = lock_port(port);
  if (!lock || !is_free(port))
    return std::nullopt;
  last_given.store(port);
  return port_reservation{port, std::move(*lock)};
}

result<bound_port> try_bind_port(const socket_address& where, bool lingers) {
  auto fd = unique_fd{
    ::socket(where.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  const auto on = 1;
  const auto off = 0;
  if (fd && lingers)
    ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  // The IPv6 wildcard accepts IPv4 too; other addresses are not affected.
  if (fd && where.family() == AF_INET6)
    ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  if (fd && ::bind(fd.get(), where.get(), where.size) == 0)
    return bound_port{port_of(where), std::move(fd)};
  return failure{errno == EADDRINUSE ? errc::address_in_use
                                     : errc::cannot_listen,
                 to_string(where) + ": " + system_error_text(errno)};
}

failure refused(uint16_t port, const failure& why) {
  return {why.code,
          formatted("MASTER_PORT {} cannot be used: {}", port, why.text)};
}

failure nothing_free(std::span<const port_range> candidates) {
  return {errc::address_in_use,
          formatted("no free port for MASTER_PORT among {}..{}",
                    candidates.front().first, candidates.back().last)};
}

uint32_t size_of(port_range x) {
  return x.last - x.first + 1U;
}

uint32_t size_of(std::span<const port_range> ranges) {
  auto sum = uint32_t{0};
  for (const auto& x : ranges)
    sum += size_of(x);
  return sum;
}

uint16_t nth_port(std::span<const port_range> ranges, uint32_t n) {
  auto i = ranges.begin();
  for (; n >= size_of(*i); ++i)
    n -= size_of(*i);
  return static_cast<uint16_t>(i->first + n);
}

// From a random start through all candidates in turn, each once, until `works`.
template <class Try>
void try_each(std::span<const port_range> candidates, Try works) {
  const auto count = size_of(candidates);
  assert(count > 0);
  const auto start = random_number(count);
  for (auto i = 0U; i < std::min(count, attempt_max); ++i)
    if (works(nth_port(candidates, (start + i) % count)))
      return;
}

} // namespace

// An abstract name belongs to the network namespace, as ports do, and goes with
// its socket, however this process ends.
result<unique_fd> lock_port(uint16_t port) {
  auto lock = unique_fd{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
  if (!lock)
    return failure{errc::cannot_listen, system_error_text(errno)};
  const auto name = "actorrun-master-port-" + std::to_string(port);
  auto address = sockaddr_un{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto size = offsetof(sockaddr_un, sun_path) + 1 + name.size();
  if (::bind(lock.get(), reinterpret_cast<const sockaddr*>(&address),
             static_cast<socklen_t>(size))
      != 0)
    return errno == EADDRINUSE
             ? failure{errc::address_in_use, "another job of this host has it"}
             : failure{errc::cannot_listen, system_error_text(errno)};
  return lock;
}

// A worker will listen there, on all addresses, and as torch does it: connections
// of an earlier job may linger.
result<void> reserved_ports::hold() {
  if (!wish_ || lock_)
    return {};
  auto lock = lock_port(*wish_);
  if (!lock)
    return refused(*wish_, lock.error());
  auto bound = bind_port(*numeric_address("::", *wish_));
  if (!bound && bound.error().code == errc::cannot_listen)
    bound = bind_port(*numeric_address("0.0.0.0", *wish_));
  if (!bound)
    return refused(*wish_, bound.error());
  lock_ = std::move(*lock);
  return {};
}

result<void> reserved_ports::open(const core::generation_plan& plan) {
  elsewhere(plan);
  return {};
}

void reserved_ports::elsewhere(const core::generation_plan& plan) {
  if (entrance_)
    entrance_->point_to(plan);
}

void reserved_ports::prefer(uint16_t port) {
  wish_ = port;
  if (!hold())
    wish_.reset();
}

std::vector<port_range> master_port_candidates(port_range ephemeral) {
  auto result = std::vector<port_range>{};
  subtract({10000, 32767}, ephemeral, result);
  subtract({61000, 65535}, ephemeral, result);
  if (result.empty())
    result.push_back({unprivileged_min, 65535});
  return result;
}

result<port_reservation> reserve_port(std::span<const port_range> candidates) {
  auto out = std::optional<port_reservation>{};
  const auto previous = last_given.load();
  try_each(candidates, [&](uint16_t port) {
    if (port != previous)
      out = try_reserve(port);
    return out.has_value();
  });
  if (!out)
    return nothing_free(candidates);
  return std::move(*out);
}

result<port_reservation> reserve_master_port() {
  return reserve_port(master_port_candidates(ephemeral_range()));
}

result<bound_port> bind_master_port(const socket_address& where) {
  const auto candidates = master_port_candidates(ephemeral_range());
  auto out = result<bound_port>{nothing_free(candidates)};
  try_each(candidates, [&](uint16_t port) {
    const auto at = numeric_address(host_of(where), port);
    assert(at);
    auto bound = try_bind_port(*at, false);
    if (!bound && bound.error().code == errc::address_in_use)
      return false;
    out = std::move(bound);
    return true;
  });
  return out;
}

result<bound_port> bind_port(const socket_address& where) {
  return try_bind_port(where, true);
}

} // namespace actorrun::detail
