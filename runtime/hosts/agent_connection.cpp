#include "actors/core/text.hpp"
#include "messages/formatted.hpp"
#include "runtime/host_agents.hpp"
#include "runtime/os/file.hpp"
#include "runtime/os/socket_address.hpp"
#include "runtime/os/unique_fd.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <utility>

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace actorrun {

namespace {

/// A port that no program of this host uses; 0: the system has none.
uint16_t free_port() {
  for (const auto family : {AF_INET6, AF_INET}) {
    const auto fd
      = detail::unique_fd{::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    auto address = sockaddr_storage{};
    address.ss_family = static_cast<sa_family_t>(family);
    const auto size = family == AF_INET6
                        ? static_cast<socklen_t>(sizeof(sockaddr_in6))
                        : static_cast<socklen_t>(sizeof(sockaddr_in));
    if (!fd
        || ::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size) != 0)
      continue;
    if (const auto own = detail::local_address_of(fd.get()))
      return detail::port_of(*own);
  }
  return 0;
}

/// The address of this host to which ssh connected: `CLIENT PORT SERVER PORT`.
std::string reached_address() {
  const auto* variable = std::getenv("SSH_CONNECTION");
  auto text = std::string_view{variable == nullptr ? "" : variable};
  for (auto i = 0; i < 2; ++i) {
    const auto space = text.find(' ');
    if (space == text.npos)
      return "";
    text.remove_prefix(space + 1);
  }
  auto out = std::string{text.substr(0, text.find(' '))};
  return detail::numeric_address(out, 1) ? out : "";
}

/// Workers must not read what is meant for their agent.
result<int> take_standard_input() {
  const auto kept = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
  const auto null
    = detail::unique_fd{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
  if (kept < 0 || !null || ::dup2(null.get(), STDIN_FILENO) < 0)
    return system_failure("cannot replace the standard input: "
                          + core::error_text(errno));
  return kept;
}

failure gone() {
  return {errc::connection_failed,
          "the actorrun that has started this agent is gone"};
}

} // namespace

result<received_order> receive_order(const std::string& version) {
  // The end of the connection ends this program, in order. A death signal would
  // leave no time for that.
  ::prctl(PR_SET_PDEATHSIG, 0);
  ::signal(SIGPIPE, SIG_IGN);
  const auto greeting
    = core::to_line(core::agent_greeting{.version = core::order_version,
                                         .program = version,
                                         .port = free_port(),
                                         .address = reached_address()});
  if (detail::write_all(STDOUT_FILENO, greeting) != 0)
    return gone();
  auto out = received_order{};
  auto bytes = std::string{};
  for (;;) {
    char piece[16 * 1024];
    const auto n = ::read(STDIN_FILENO, piece, sizeof piece);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return gone();
    bytes.append(piece, static_cast<size_t>(n));
    auto decoded = core::decode_order(bytes);
    if (!decoded)
      return decoded.error();
    if (!*decoded)
      continue;
    out.order = std::move((*decoded)->order);
    out.rest = bytes.substr((*decoded)->size);
    auto connection = take_standard_input();
    if (!connection)
      return connection.error();
    out.connection = *connection;
    return out;
  }
}

} // namespace actorrun
