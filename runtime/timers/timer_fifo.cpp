#include "runtime/timers/timer_fifo.hpp"

#include "messages/formatted.hpp"
#include "runtime/os/private_name.hpp"
#include "runtime/os/resource_limits.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace actorrun::detail {

namespace {

constexpr auto fifo_mode = mode_t{S_IRUSR | S_IWUSR};

/// Behind the names of private FIFOs.
constexpr std::string_view fifo_suffix = ".timers";

failure unusable(const std::string& path, const std::string& why) {
  return {errc::bad_argument, formatted("the timer FIFO {} {}; choose another "
                                        "TORCHELASTIC_TIMER_FILE or --no-timer",
                                        path, why)};
}

failure cannot(const char* what, const std::string& path, int error) {
  return unusable(
    path, formatted("cannot be {} ({})", what, system_error_text(error)));
}

failure in_use(const std::string& path) {
  return {errc::address_in_use,
          "another program reads from the timer FIFO " + path};
}

/// Checks that the file at the path is a FIFO of ours.
result<void> check(const std::string& path, const struct stat& info) {
  if (!S_ISFIFO(info.st_mode))
    return unusable(path, "exists and is not a FIFO");
  if (info.st_uid != ::geteuid())
    return unusable(path, "belongs to another user");
  return {};
}

/// Whether another process has it open for reading.
bool has_reader(const std::string& path) {
  const auto fd = unique_fd{::open(
    path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY)};
  return static_cast<bool>(fd);
}

result<void> take_over(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0)
    return cannot("opened", path, errno);
  if (auto ok = check(path, info); !ok)
    return ok;
  if (has_reader(path))
    return in_use(path);
  return {};
}

// A umask may keep even us from opening the new FIFO; if that cannot be
// changed, opening it fails.
void unmask(const std::string& path) {
  ::fchmodat(AT_FDCWD, path.c_str(), fifo_mode, AT_SYMLINK_NOFOLLOW);
}

// Two agents that take over the same FIFO at once: the lock decides, if the file system
// knows locks.
result<void> secure(const std::string& path, int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0)
    return cannot("opened", path, errno);
  if (auto ok = check(path, info); !ok)
    return ok;
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return in_use(path);
  if (::fchmod(fd, fifo_mode) != 0)
    return cannot("opened", path, errno);
  return {};
}

} // namespace

result<std::unique_ptr<timer_fifo>> timer_fifo::open(reactor& loop,
                                                     const std::string& path) {
  auto error = std::error_code{};
  const auto full = std::filesystem::absolute(path, error).string();
  if (path.empty() || error)
    return cannot("made", path, ENOENT);
  if (::mkfifo(full.c_str(), fifo_mode) == 0) {
    unmask(full);
  } else {
    if (errno != EEXIST)
      return cannot("made", full, errno);
    if (auto ok = take_over(full); !ok)
      return ok.error();
  }
  auto fd = unique_fd{::open(full.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC
                                             | O_NOFOLLOW | O_NOCTTY)};
  if (!fd)
    return cannot("opened", full, errno);
  if (auto ok = secure(full, fd.get()); !ok)
    return ok.error();
  return std::unique_ptr<timer_fifo>{new timer_fifo{loop, full, std::move(fd)}};
}

result<std::unique_ptr<timer_fifo>> timer_fifo::open_private(reactor& loop) {
  auto folder = run_folder::open();
  if (!folder)
    return folder.error();
  auto x = open(loop, folder->path() + "/" + private_name(fifo_suffix));
  if (x)
    (*x)->folder_ = std::move(*folder);
  return x;
}

timer_fifo::timer_fifo(reactor& loop, std::string path, unique_fd fd)
  : path_(std::move(path)), fd_(std::move(fd)), readiness_(loop, fd_.get()) {
  struct stat info {};
  ::fstat(fd_.get(), &info);
  device_ = info.st_dev;
  inode_ = info.st_ino;
}

timer_fifo::~timer_fifo() {
  struct stat info {};
  if (::lstat(path_.c_str(), &info) == 0 && info.st_dev == device_
      && info.st_ino == inode_)
    ::unlink(path_.c_str());
  if (!folder_)
    return;
  remove_dead(folder_->path(), fifo_suffix, has_reader);
  folder_->remove_if_empty();
}

size_t timer_fifo::read(std::span<char> into) {
  for (;;) {
    const auto count = ::read(fd_.get(), into.data(), into.size());
    if (count >= 0 || errno != EINTR)
      return static_cast<size_t>(std::max<ssize_t>(count, 0));
  }
}

size_t timer_fifo::size() const {
  auto count = 0;
  ::ioctl(fd_.get(), FIONREAD, &count);
  return static_cast<size_t>(std::max(count, 0));
}

// The number of bytes does not show it: long lines leave room that is too
// small.
bool timer_fifo::is_full() const {
  auto what = pollfd{fd_.get(), POLLOUT, 0};
  return ::poll(&what, 1, 0) == 0;
}

core::duration timer_fifo::wall_offset() const {
  return std::chrono::system_clock::now().time_since_epoch()
         - std::chrono::steady_clock::now().time_since_epoch();
}

void timer_fifo::call_when_ready(std::function<void()> fn) {
  readiness_.call_once(std::move(fn));
}

} // namespace actorrun::detail
