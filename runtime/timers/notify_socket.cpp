#include "runtime/timers/notify_socket.hpp"

#include "messages/formatted.hpp"
#include "runtime/os/private_name.hpp"
#include "runtime/os/resource_limits.hpp"
#include "runtime/os/socket_address.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

namespace actorrun::detail {

namespace {

constexpr std::string_view suffix = ".notify";

constexpr auto private_mode = mode_t{S_IRUSR | S_IWUSR};

failure cannot_listen(const std::string& path, int error) {
  return {errc::cannot_listen,
          formatted("the socket {} for watchdogs cannot be made: {}", path,
                    system_error_text(error))};
}

result<unique_fd> bind_to(const std::string& path) {
  const auto address = unix_address(path);
  if (!address)
    return failure{errc::cannot_listen,
                   address.error().text + "; set ACTORRUN_RUN_DIR"};
  auto fd = unique_fd{
    ::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
  const auto yes = 1;
  if (!fd
      || ::setsockopt(fd.get(), SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes) != 0)
    return cannot_listen(path, errno);
  if (::bind(fd.get(), address->get(), address->size) != 0
      || ::chmod(path.c_str(), private_mode) != 0)
    return cannot_listen(path, errno);
  return fd;
}

bool is_used(const std::string& path) {
  const auto address = unix_address(path);
  const auto fd = unique_fd{
    ::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
  return !address || !fd
         || ::connect(fd.get(), address->get(), address->size) == 0
         || errno != ECONNREFUSED;
}

pid_t sender_of(msghdr& message) {
  for (auto* x = CMSG_FIRSTHDR(&message); x != nullptr;
       x = CMSG_NXTHDR(&message, x)) {
    if (x->cmsg_level != SOL_SOCKET || x->cmsg_type != SCM_CREDENTIALS)
      continue;
    auto who = ucred{};
    std::memcpy(&who, CMSG_DATA(x), sizeof who);
    return who.pid;
  }
  return 0;
}

} // namespace

result<std::unique_ptr<notify_socket>> notify_socket::open(reactor& loop) {
  auto folder = run_folder::open();
  if (!folder)
    return folder.error();
  auto path = folder->path() + "/" + private_name(suffix);
  auto fd = bind_to(path);
  if (!fd)
    return fd.error();
  return std::unique_ptr<notify_socket>{new notify_socket{
    loop, std::move(*folder), std::move(path), std::move(*fd)}};
}

notify_socket::notify_socket(reactor& loop, run_folder folder, std::string path,
                             unique_fd fd)
  : folder_(std::move(folder)), path_(std::move(path)), fd_(std::move(fd)),
    readiness_(loop, fd_.get()) {}

notify_socket::~notify_socket() {
  ::unlink(path_.c_str());
  remove_dead(folder_.path(), suffix, is_used);
  folder_.remove_if_empty();
}

// There is room for the credentials only: descriptors are closed.
std::optional<ports::notice> notify_socket::next() {
  for (;;) {
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(ucred))> control;
    auto bytes = iovec{place_.data(), place_.size()};
    auto message = msghdr{};
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const auto count
      = ::recvmsg(fd_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return std::nullopt;
    const auto sender = sender_of(message);
    if (sender > 0 && (message.msg_flags & MSG_TRUNC) == 0)
      return ports::notice{sender, {place_.data(), static_cast<size_t>(count)}};
  }
}

void notify_socket::call_when_ready(std::function<void()> fn) {
  readiness_.call_once(std::move(fn));
}

} // namespace actorrun::detail
