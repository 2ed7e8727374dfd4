#include "runtime/processes/forked_child.hpp"

#include "runtime/os/unique_fd.hpp"
#include "runtime/processes/output_files.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <memory>

#include <dirent.h>
#include <fcntl.h>
#include <stdio_ext.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace actorrun::detail {

namespace {

/// Exit code of a child that does not reach its body, as a shell has it.
constexpr int not_run_code = 127;

// Appends all from 3 on; none without /proc. @returns 0 or an errno
int append_open_descriptors(std::vector<int>& result) {
  const auto close = [](DIR* x) { ::closedir(x); };
  const auto folder
    = std::unique_ptr<DIR, decltype(close)>{::opendir("/proc/self/fd"), close};
  if (!folder)
    return errno == ENOENT ? 0 : errno;
  while (const auto* entry = ::readdir(folder.get())) {
    const auto* name = static_cast<const char*>(entry->d_name);
    auto fd = 0;
    const auto end = std::from_chars(name, name + std::strlen(name), fd);
    if (end.ec == std::errc{} && fd > STDERR_FILENO
        && fd != ::dirfd(folder.get()))
      result.push_back(fd);
  }
  return 0;
}

// Lets every stream of the program write its buffer to /dev/null. Discarding
// the buffers is impossible: there is no list of streams, and a file of the
// child may get the descriptor of one of them.
int drain_streams(const std::vector<int>& kept) {
  const auto null = unique_fd{::open(null_device, O_RDWR | O_CLOEXEC)};
  if (!null)
    return errno;
  auto all = std::vector<int>{STDOUT_FILENO, STDERR_FILENO};
  if (const auto error = append_open_descriptors(all))
    return error;
  for (const auto fd : all)
    if (fd != null.get() && std::ranges::find(kept, fd) == kept.end())
      ::dup2(null.get(), fd);
  // Read ahead, but not by this process: a flush may seek back, for the parent too.
  ::__fpurge(stdin);
  flush_streams();
  return 0;
}

/// Where the child's files are while they are moved.
struct moving_files {
  int out = -1;
  int err = -1;
  std::vector<int> descriptors; ///< The handshake comes last.

  std::vector<int> all() const {
    auto result = descriptors;
    result.push_back(out);
    result.push_back(err);
    return result;
  }

  child_files placed() const { return {out, err, descriptors}; }
};

int lift(int fd, int first_free) {
  return ::fcntl(fd, F_DUPFD_CLOEXEC, first_free);
}

// A standard stream need not be open: then `lifted` is -1. @returns 0 or errno
int lift_output(int fd, int inherited, int first_free, int& lifted) {
  lifted = lift(fd >= 0 ? fd : inherited, first_free);
  return lifted >= 0 || (fd < 0 && errno == EBADF) ? 0 : errno;
}

// First moves all files of the child above their targets, because 1 and 2 are
// drained, too. `handshake` is updated as the socket to the agent moves.
int settle_files(const forked_child& child, int& handshake) {
  const auto& files = child.files;
  const auto count = static_cast<int>(files.descriptors.size()) + 1;
  auto moving = moving_files{};
  moving.descriptors.assign(files.descriptors.begin(), files.descriptors.end());
  moving.descriptors.push_back(child.handshake);
  const auto first_free = first_descriptor + count;
  for (auto& fd : moving.descriptors)
    if ((fd = lift(fd, first_free)) < 0)
      return errno;
  handshake = moving.descriptors.back();
  if (const auto error
      = lift_output(files.out, STDOUT_FILENO, first_free, moving.out))
    return error;
  if (const auto error
      = lift_output(files.err, STDERR_FILENO, first_free, moving.err))
    return error;
  if (child.has_foreign_buffers)
    if (const auto error = drain_streams(moving.all()))
      return error;
  if (const auto error = place_files(moving.placed()))
    return error;
  handshake = first_descriptor + count - 1;
  return 0;
}

// The strings stay for as long as the process lives: `getenv` points into them.
void replace_environment(const std::vector<std::string>& lines) {
  auto* const kept = new std::vector<std::string>{lines};
  auto* const pointers = new std::vector<char*>{};
  for (auto& line : *kept)
    pointers->push_back(line.data());
  pointers->push_back(nullptr);
  ::environ = pointers->data();
}

} // namespace

void flush_streams() {
  std::cout.flush();
  std::cerr.flush();
  std::clog.flush();
  std::fflush(nullptr);
}

void run_forked_child(const forked_child& child,
                      const std::function<int()>& body) noexcept {
  auto handshake = child.handshake;
  auto report = child_report{.pid = ::getpid()};
  report.error = lead_session(child.agent, nullptr);
  if (report.error == 0)
    report.error = settle_files(child, handshake);
  report.ready = report.error == 0;
  send_report(handshake, report);
  if (!report.ready || !await_go(handshake))
    ::_exit(not_run_code);
  ::close(handshake);
  ::prctl(PR_SET_NAME, program_invocation_short_name);
  replace_environment(child.environment);
  reset_signals(changed_signals());
  const auto code = body();
  flush_streams();
  ::_exit(code);
}

std::optional<child_handshake> child_handshake::open() {
  auto fds = std::array<int, 2>{};
  const auto type = SOCK_SEQPACKET | SOCK_CLOEXEC;
  if (::socketpair(AF_UNIX, type, 0, fds.data()) != 0)
    return std::nullopt;
  return child_handshake{unique_fd{fds[0]}, unique_fd{fds[1]}};
}

// `await_go` notices an agent that has closed its end.
void send_report(int fd, const child_report& report) noexcept {
  (void)::send(fd, &report, sizeof report, MSG_NOSIGNAL);
}

bool await_go(int fd) noexcept {
  for (;;) {
    auto go = char{};
    const auto size = ::recv(fd, &go, sizeof go, 0);
    if (size >= 0 || errno != EINTR)
      return size == sizeof go;
  }
}

std::optional<child_report> take_report(int fd) noexcept {
  auto report = child_report{};
  const auto size = ::recv(fd, &report, sizeof report, MSG_DONTWAIT);
  if (size == sizeof report)
    return report;
  if (size < 0 && (errno == EAGAIN || errno == EINTR))
    return std::nullopt;
  return child_report{.pid = 0, .error = ECONNRESET, .ready = false};
}

// Its pidfd reports a child that has died meanwhile.
void send_go(int fd) noexcept {
  const auto go = char{1};
  (void)::send(fd, &go, sizeof go, MSG_NOSIGNAL | MSG_DONTWAIT);
}

} // namespace actorrun::detail
