#include "runtime/diagnosis/ras_client.hpp"

#include "runtime/os/unique_fd.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <string_view>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace actorrun::detail {

namespace {

using std::chrono::steady_clock;

/// NCCL's own, where nothing else is said.
constexpr uint16_t usual_port = 28028;

/// The service waits so many seconds for processes that do not answer it.
constexpr auto ras_question = std::string_view{"TIMEOUT 1\nVERBOSE STATUS\n"};

/// @param family  `localhost` is the one or the other for NCCL.
sockaddr_storage loopback(int family, uint16_t port) {
  auto out = sockaddr_storage{};
  out.ss_family = static_cast<sa_family_t>(family);
  if (family == AF_INET6) {
    auto& to = reinterpret_cast<sockaddr_in6&>(out);
    to.sin6_port = htons(port);
    to.sin6_addr = in6addr_loopback;
  } else {
    auto& to = reinterpret_cast<sockaddr_in&>(out);
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  }
  return out;
}

/// @returns whether it is ready in time, or has failed, which the next call says
bool await(int fd, short events, core::time_point deadline) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(
      deadline - steady_clock::now());
    if (left.count() <= 0)
      return false;
    auto entry = pollfd{.fd = fd, .events = events, .revents = 0};
    const auto count = ::poll(&entry, 1, static_cast<int>(left.count()));
    if (count > 0)
      return true;
    if (count == 0 || errno != EINTR)
      return false;
  }
}

/// The value of the last entry, as the loader of a program takes it.
std::string_view value_of(std::span<const std::string> environment,
                          std::string_view name) {
  auto out = std::string_view{};
  for (const auto& x : environment)
    if (x.size() > name.size() && x.starts_with(name) && x[name.size()] == '=')
      out = std::string_view{x}.substr(name.size() + 1);
  return out;
}

} // namespace

bool is_ras_off(std::span<const std::string> environment) {
  return value_of(environment, "NCCL_RAS_ENABLE") == "0";
}

std::optional<uint16_t> ras_port_of(std::span<const std::string> environment) {
  if (is_ras_off(environment))
    return {};
  const auto address = value_of(environment, ras_variable);
  if (address.empty())
    return usual_port;
  const auto colon = address.rfind(':');
  const auto host = address.substr(0, colon);
  if (colon == address.npos
      || (host != "localhost" && host != "127.0.0.1" && host != "[::1]"))
    return {};
  const auto digits = address.substr(colon + 1);
  auto port = uint16_t{0};
  const auto* const end = digits.data() + digits.size();
  const auto done = std::from_chars(digits.data(), end, port);
  if (done.ec != std::errc{} || done.ptr != end || port == 0)
    return {};
  return port;
}

uint16_t free_ras_port() {
  const auto fd = unique_fd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  auto address = sockaddr_in{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto size = socklen_t{sizeof address};
  auto* const place = reinterpret_cast<sockaddr*>(&address);
  if (!fd || ::bind(fd.get(), place, size) != 0
      || ::getsockname(fd.get(), place, &size) != 0)
    return 0;
  return ntohs(address.sin_port);
}

namespace {

/// @returns none: there is no listener
unique_fd connect_to_ras(int family, uint16_t port, core::time_point deadline) {
  auto fd = unique_fd{
    ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  const auto to = loopback(family, port);
  if (!fd)
    return {};
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to)
        != 0
      && (errno != EINPROGRESS || !await(fd.get(), POLLOUT, deadline)))
    return {};
  // A new connection has room for so little; one that was refused fails here.
  if (::send(fd.get(), ras_question.data(), ras_question.size(), MSG_NOSIGNAL)
      != static_cast<ssize_t>(ras_question.size()))
    return {};
  return fd;
}

} // namespace

std::string ask_ras(uint16_t port, core::time_point deadline) {
  auto fd = connect_to_ras(AF_INET, port, deadline);
  if (!fd)
    fd = connect_to_ras(AF_INET6, port, deadline);
  auto out = std::string{};
  auto place = std::array<char, 16 * 1024>{};
  while (fd && out.size() < ras_answer_max
         && await(fd.get(), POLLIN, deadline)) {
    const auto count = ::recv(fd.get(), place.data(), place.size(), 0);
    if (count < 0 && (errno == EINTR || errno == EAGAIN))
      continue;
    if (count <= 0)
      break; // NCCL hangs up when it has said all.
    out.append(place.data(), static_cast<size_t>(count));
  }
  return out.substr(0, ras_answer_max);
}

} // namespace actorrun::detail
