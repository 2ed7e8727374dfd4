#include "runtime/worker/detail/timer_channel.hpp"

#include "runtime/worker/detail/pipe_write.hpp"

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <exception>
#include <new>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

namespace actorrun::worker {

namespace {

using namespace std::chrono_literals;

constexpr auto retry_interval = 1s;
/// A line may hold its caller up for so long.
constexpr auto timeout = 1ms;
/// If nothing was read for so long, the server is stuck, not slow: no thread
/// waits for it any more.
constexpr auto stall_min = 100ms;
/// The thread that sends what waits looks at the descriptor again so often.
constexpr auto helper_interval_ms = 1000;
constexpr size_t outbox_max = 64 * 1024;

timer_channel* the_channel = nullptr;

} // namespace

timer_channel& timer_channel::instance() {
  // Never destroyed: what exits may still leave a block that has a timer.
  static auto& channel = *new timer_channel;
  return channel;
}

timer_channel::timer_channel() : pid_(::getpid()), signal_(SIGKILL) {
  the_channel = this;
  ::pthread_atfork([] { the_channel->mutex_.lock(); },
                   [] { the_channel->mutex_.unlock(); },
                   [] {
                     the_channel->forget_parent();
                     the_channel->mutex_.unlock();
                   });
}

// The child has one thread, and perhaps an environment of its own soon. It may give
// the descriptor's number to another file, so it opens the FIFO itself.
void timer_channel::forget_parent() {
  pid_ = ::getpid();
  const auto fd = fd_.exchange(-1);
  struct stat x {};
  if (fd >= 0 && ::fstat(fd, &x) == 0 && x.st_dev == device_
      && x.st_ino == inode_)
    ::close(fd);
  if (state_ == state::open) {
    state_ = state::closed;
    next_try_ = {};
  }
  outbox_.clear();
  has_outbox_ = has_helper_ = false;
  if (!is_configured_)
    state_ = state::unknown;
}

// -- opening ------------------------------------------------------------------

timer_status timer_channel::configure(const std::string& path, int signal) {
  const auto lock = std::lock_guard{mutex_};
  signal_ = signal;
  path_ = path;
  is_configured_ = true;
  outbox_.clear();
  has_outbox_ = false;
  return open_locked();
}

bool timer_channel::reopen() {
  const auto lock = std::lock_guard{mutex_};
  if (state_ == state::unknown) {
    const auto* path = std::getenv("TORCHELASTIC_TIMER_FILE");
    path_ = path == nullptr ? "" : path;
    open_locked();
  } else if (state_ == state::closed && clock::now() >= next_try_) {
    open_locked();
  }
  return state_ == state::open;
}

timer_status timer_channel::open_locked() {
  if (path_.empty()) {
    state_ = state::absent;
    return timer_status::no_server;
  }
  state_ = state::closed;
  next_try_ = clock::now() + retry_interval;
  const auto fd
    = ::open(path_.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) // ENXIO: it exists without a reader.
    return errno == ENXIO || errno == ENOENT ? timer_status::no_server
                                             : timer_status::bad_argument;
  struct stat x {};
  if (::fstat(fd, &x) != 0 || !S_ISFIFO(x.st_mode)) {
    ::close(fd);
    return timer_status::bad_argument;
  }
  take_over(fd);
  device_ = x.st_dev;
  inode_ = x.st_ino;
  state_.store(state::open, std::memory_order_release);
  return timer_status::ok;
}

void timer_channel::take_over(int fd) {
  if (fd_ < 0) {
    fd_ = fd;
    return;
  }
  while (::dup3(fd, fd_, O_CLOEXEC) < 0 && (errno == EBUSY || errno == EINTR)) {
  }
  ::close(fd);
}

// The server is gone; messages for it are useless to another.
void timer_channel::give_up() {
  outbox_.clear();
  has_outbox_ = false;
  if (state_ == state::open)
    state_ = state::closed;
  next_try_ = clock::now() + retry_interval;
}

// -- sending ------------------------------------------------------------------

timer_status timer_channel::send(std::string_view line) {
  // What waits goes first: a release must not overtake its acquire.
  if (!has_outbox_.load(std::memory_order_acquire)
      && write_to_pipe(fd_.load(std::memory_order_relaxed), line)
           == pipe_outcome::written)
    return timer_status::ok;
  auto lock = std::unique_lock{mutex_};
  const auto start = clock::now();
  if (outbox_.empty())
    progress_at_ = start;
  const auto is_stalled = start - progress_at_ >= stall_min;
  const auto until = is_stalled ? start : start + timeout;
  while (true) {
    if (const auto status = try_locked(line))
      return *status;
    if (clock::now() >= until)
      return post_locked(line);
    lock.unlock();
    wait_for_room(until);
    lock.lock();
  }
}

// What came of writing the line; none if there is no room.
std::optional<timer_status> timer_channel::try_locked(std::string_view line) {
  if (state_ != state::open)
    return timer_status::no_server;
  if (!flush_locked())
    return std::nullopt;
  switch (write_to_pipe(fd_, line)) {
    case pipe_outcome::written:
      return timer_status::ok;
    case pipe_outcome::full:
      return std::nullopt;
    case pipe_outcome::broken:
      break;
  }
  give_up();
  return timer_status::no_server;
}

void timer_channel::wait_for_room(clock::time_point until) const {
  const auto left = std::chrono::nanoseconds{until - clock::now()}.count();
  if (left <= 0)
    return;
  auto x = pollfd{.fd = fd_, .events = POLLOUT, .revents = 0};
  const auto limit = timespec{.tv_sec = 0, .tv_nsec = left};
  ::ppoll(&x, 1, &limit, nullptr);
}

timer_status timer_channel::post_locked(std::string_view line) {
  try {
    outbox_.reserve(outbox_max);
    if (outbox_.size() + line.size() <= outbox_max) {
      outbox_ += line;
      has_outbox_ = true;
      start_helper();
      return timer_status::ok;
    }
  } catch (const std::bad_alloc&) {
    // Then as if the outbox were full.
  }
  ++lost_count_;
  return timer_status::lost;
}

// Says whether nothing waits any more.
bool timer_channel::flush_locked() {
  size_t sent = 0;
  while (sent < outbox_.size()) {
    const auto length = outbox_.find('\n', sent) + 1 - sent;
    const auto line = std::string_view{outbox_}.substr(sent, length);
    const auto what = write_to_pipe(fd_, line);
    if (what == pipe_outcome::broken) {
      give_up();
      return true;
    }
    if (what == pipe_outcome::full)
      break;
    sent += length;
  }
  if (sent > 0)
    progress_at_ = clock::now();
  outbox_.erase(0, sent);
  has_outbox_ = !outbox_.empty();
  return outbox_.empty();
}

// -- the thread that sends what waits -----------------------------------------

void timer_channel::start_helper() {
  if (has_helper_)
    return;
  // It is not the program's: it handles none of its signals.
  auto all = sigset_t{};
  auto before = sigset_t{};
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread{[this] { run_helper(); }}.detach();
    has_helper_ = true;
  } catch (const std::exception&) {
    // Then the next call sends it.
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void timer_channel::run_helper() {
  while (true) {
    auto x = pollfd{.fd = fd_, .events = POLLOUT, .revents = 0};
    ::poll(&x, 1, helper_interval_ms);
    const auto lock = std::lock_guard{mutex_};
    if (state_ != state::open || flush_locked()) {
      has_helper_ = false;
      return;
    }
  }
}

} // namespace actorrun::worker
