#include "tests/bench/free_port.hpp"

#include "runtime/os/unique_fd.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace actorrun::bench {

uint16_t free_port() {
  const auto fd
    = detail::unique_fd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  auto address = sockaddr_in{};
  address.sin_family = AF_INET;
  ::inet_pton(AF_INET, loopback, &address.sin_addr);
  auto* name = reinterpret_cast<sockaddr*>(&address);
  auto size = socklen_t{sizeof address};
  if (::bind(fd.get(), name, size) != 0
      || ::getsockname(fd.get(), name, &size) != 0)
    return 0;
  return ntohs(address.sin_port);
}

} // namespace actorrun::bench
