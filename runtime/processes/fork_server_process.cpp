#include "runtime/processes/fork_server_process.hpp"

#include "runtime/processes/fork_server.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace actorrun::detail {

fork_server_process::fork_server_process(reactor& loop, spawner& starter,
                                         const std::string& path,
                                         const std::string& name,
                                         std::vector<std::string> environment,
                                         std::function<void()> on_end)
  : loop_(loop) {
  auto fds = std::array<int, 2>{};
  const auto type = SOCK_SEQPACKET | SOCK_CLOEXEC;
  if (::socketpair(AF_UNIX, type, 0, fds.data()) != 0) {
    error_ = errno;
    return;
  }
  socket_.reset(fds[0]);
  const auto its_end = unique_fd{fds[1]};
  const auto descriptors = std::array{its_end.get()};
  const auto variable = std::string{fork_server_variable} + '=';
  std::erase_if(environment,
                [&](const auto& x) { return x.starts_with(variable); });
  environment.push_back(variable + std::to_string(first_descriptor));
  process_ = starter.start(path, {name}, environment, nullptr,
                           {.descriptors = descriptors});
  error_ = process_.error;
  if (error_ != 0)
    return;
  loop_.watch(process_.pidfd.get(), EPOLLIN,
              [this, on_end = std::move(on_end)](uint32_t) {
                forget();
                on_end();
              });
}

fork_server_process::~fork_server_process() {
  if (!runs())
    return;
  kill();
  forget();
}

// Its death is noticed here or by its pidfd, with the same effect.
int fork_server_process::order(const fork_text& text, const child_files& files,
                               int handshake) const {
  if (!runs())
    return ECONNRESET;
  const auto error = send_fork_request(socket_.get(), text, files, handshake);
  return error == EPIPE ? ECONNRESET : error;
}

void fork_server_process::kill() const {
  if (runs())
    ::syscall(SYS_pidfd_send_signal, process_.pidfd.get(), SIGKILL, nullptr, 0);
}

// Waits for the end, which has come or is near.
void fork_server_process::forget() {
  auto info = siginfo_t{};
  const auto id = static_cast<id_t>(process_.pidfd.get());
  while (::waitid(P_PIDFD, id, &info, WEXITED) != 0 && errno == EINTR) {
  }
  loop_.unwatch(process_.pidfd.get());
  process_.pidfd.reset();
  socket_.reset();
}

} // namespace actorrun::detail
