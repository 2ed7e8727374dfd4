#include "runtime/logs/console_target.hpp"

#include <cerrno>
#include <csignal>
#include <ctime>
#include <string>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

namespace actorrun::detail {

namespace {

/// In bytes: what a pipe may have without privileges unless an administrator
/// has changed that. Fewer and larger writes are what throughput needs.
constexpr int pipe_size = 1024 * 1024;

bool can_write(int fd) {
  const auto flags = ::fcntl(fd, F_GETFL);
  return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
}

// A file description of our own, because O_NONBLOCK affects all its holders.
unique_fd open_again(int fd) {
  const auto path = "/proc/self/fd/" + std::to_string(fd);
  return unique_fd{
    ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)};
}

unique_fd duplicate(int fd) {
  return unique_fd{::fcntl(fd, F_DUPFD_CLOEXEC, 0)};
}

/// A closed pipe raises SIGPIPE in the thread that writes. A host program may
/// not ignore it; so it is blocked, and removed if it came.
class sigpipe_guard {
public:
  sigpipe_guard() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }

  ~sigpipe_guard() {
    if (came_ && sigismember(&before_, SIGPIPE) == 0) {
      const auto none = timespec{};
      while (::sigtimedwait(&pipe_, nullptr, &none) < 0 && errno == EINTR) {
      }
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

  sigpipe_guard(const sigpipe_guard&) = delete;
  sigpipe_guard& operator=(const sigpipe_guard&) = delete;

  void note(int error) { came_ = came_ || error == EPIPE; }

private:
  sigset_t pipe_{};
  sigset_t before_{};
  bool came_ = false;
};

} // namespace

console_target console_target::open(int fd) {
  auto result = console_target{};
  struct stat info {};
  if (::fstat(fd, &info) != 0 || !can_write(fd))
    return result;
  result.device_ = info.st_dev;
  result.inode_ = info.st_ino;
  result.is_pipe_ = S_ISFIFO(info.st_mode);
  if (result.is_pipe_ || ::isatty(fd) == 1) {
    result.fd_ = open_again(fd);
    // ENXIO: a named pipe without a reader.
    if (result.fd_)
      result.mode_ = write_mode::nonblocking;
    else if (errno != ENXIO)
      result.mode_ = write_mode::blocking;
    else
      return result;
  } else {
    result.mode_ = S_ISSOCK(info.st_mode)  ? write_mode::socket
                   : S_ISREG(info.st_mode) ? write_mode::file
                                           : write_mode::direct;
  }
  if (!result.fd_)
    result.fd_ = duplicate(fd);
  if (!result.fd_)
    result.mode_ = write_mode::closed;
  return result;
}

bool console_target::is_same(const console_target& other) const {
  return mode_ != write_mode::closed && mode_ == other.mode_
         && device_ == other.device_ && inode_ == other.inode_;
}

ssize_t console_target::write_once(std::string_view bytes) const {
  if (mode_ == write_mode::socket)
    return ::send(fd_.get(), bytes.data(), bytes.size(),
                  MSG_DONTWAIT | MSG_NOSIGNAL);
  return ::write(fd_.get(), bytes.data(), bytes.size());
}

console_target::outcome console_target::write(std::string_view bytes) const {
  auto guard = sigpipe_guard{};
  auto result = outcome{};
  while (result.bytes < bytes.size()) {
    const auto count = write_once(bytes.substr(result.bytes));
    if (count > 0) {
      result.bytes += static_cast<size_t>(count);
    } else if (count == 0 || errno != EINTR) {
      result.error = count == 0 ? EIO : errno;
      guard.note(result.error);
      break;
    }
  }
  return result;
}

void console_target::enlarge() const {
  if (is_pipe_ && ::fcntl(fd_.get(), F_GETPIPE_SZ) < pipe_size)
    ::fcntl(fd_.get(), F_SETPIPE_SZ, pipe_size);
}

} // namespace actorrun::detail
