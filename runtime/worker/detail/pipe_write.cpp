#include "runtime/worker/detail/pipe_write.hpp"

#include <atomic>
#include <cerrno>
#include <ctime>

#include <pthread.h>
#include <signal.h>
#include <sys/uio.h>
#include <unistd.h>

namespace actorrun::worker {

namespace {

/// RWF_NOSIGNAL, which the C library does not know yet.
constexpr int no_signal_flag = 0x100;

/// The place in the file: where it stands.
constexpr off_t present_offset = -1;

std::atomic<bool> can_write_unsignalled{true};

/// Blocks SIGPIPE for this thread, and takes back the one that a write causes.
class pipe_signal_guard {
public:
  pipe_signal_guard() {
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
    if (::sigismember(&before_, SIGPIPE) == 1) {
      auto pending = sigset_t{};
      ::sigpending(&pending);
      was_pending_ = ::sigismember(&pending, SIGPIPE) == 1;
    }
  }

  ~pipe_signal_guard() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  pipe_signal_guard(const pipe_signal_guard&) = delete;
  pipe_signal_guard& operator=(const pipe_signal_guard&) = delete;

  void take_back() {
    const auto at_once = timespec{};
    if (!was_pending_)
      while (::sigtimedwait(&pipe_, nullptr, &at_once) < 0 && errno == EINTR) {
      }
  }

private:
  sigset_t pipe_{};
  sigset_t before_{};
  bool was_pending_ = false;
};

} // namespace

pipe_outcome write_to_pipe(int fd, std::string_view text) {
  if (can_write_unsignalled.load(std::memory_order_relaxed)) {
    if (const auto what = write_unsignalled(fd, text))
      return *what;
    can_write_unsignalled.store(false, std::memory_order_relaxed);
  }
  return write_guarded(fd, text);
}

std::optional<pipe_outcome> write_unsignalled(int fd, std::string_view text) {
  const auto piece
    = iovec{.iov_base = const_cast<char*>(text.data()), .iov_len = text.size()};
  while (::pwritev2(fd, &piece, 1, present_offset, no_signal_flag) < 0) {
    if (errno == EAGAIN)
      return pipe_outcome::full;
    if (errno == EPIPE || errno == EBADF)
      return pipe_outcome::broken;
    if (errno != EINTR) // It, or a sandbox, does not know the flag.
      return std::nullopt;
  }
  return pipe_outcome::written;
}

pipe_outcome write_guarded(int fd, std::string_view text) {
  auto guard = pipe_signal_guard{};
  while (::write(fd, text.data(), text.size()) < 0) {
    if (errno == EINTR)
      continue;
    if (errno == EAGAIN)
      return pipe_outcome::full;
    if (errno == EPIPE)
      guard.take_back();
    return pipe_outcome::broken;
  }
  return pipe_outcome::written;
}

} // namespace actorrun::worker
