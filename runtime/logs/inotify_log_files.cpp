#include "runtime/logs/inotify_log_files.hpp"

#include "actors/core/text.hpp"
#include "messages/formatted.hpp"
#include "runtime/os/disk.hpp"
#include "runtime/os/file.hpp"
#include "runtime/os/folder.hpp"
#include "runtime/os/reactor.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <chrono>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

namespace actorrun::detail {

namespace {

/// As a shell makes them; the umask and the folder decide who may read.
constexpr auto file_mode = mode_t{0666};

/// In bytes; holds hundreds of events.
constexpr size_t events_size = 16 * 1024;

failure unusable(const std::string& path, const std::string& why) {
  return {errc::log_failed,
          formatted("the log file {} cannot be opened: {}", path, why)};
}

bool has_little_space(int fd) {
  struct statvfs x {};
  if (::fstatvfs(fd, &x) != 0)
    return false;
  const auto unit = uint64_t{x.f_frsize};
  const auto part = unit * x.f_blocks / short_space_parts;
  return unit * x.f_bavail < std::clamp(part, short_space_min, short_space_max);
}

} // namespace

inotify_log_files::inotify_log_files(reactor& loop,
                                     std::shared_ptr<rotation_book> book)
  : loop_(loop), book_(std::move(book)), alive_(std::make_shared<bool>(true)) {}

inotify_log_files::~inotify_log_files() {
  run_and_wait(loop_, [this] {
    *alive_ = false;
    loop_.unwatch(inotify_.get());
  });
}

// -- bytes --------------------------------------------------------------------

result<ports::log_file_id> inotify_log_files::open(const std::string& path) {
  auto opened = open_at(path, O_RDWR | O_CREAT, file_mode);
  if (!opened)
    return unusable(path, opened.why);
  auto fd = std::move(opened.fd);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0)
    return unusable(path, core::error_text(errno));
  if (!S_ISREG(info.st_mode))
    return unusable(path, core::error_text(EINVAL));
  const auto id = ports::log_file_id{++last_id_};
  const auto number = fd.get();
  const auto lock = std::lock_guard{mutex_};
  files_.emplace(id, entry{.fd = std::move(fd),
                           .bytes = {.fd = number, .path = path},
                           .device = info.st_dev,
                           .shift = book_ ? book_->of(path) : nullptr});
  return id;
}

size_t inotify_log_files::read(ports::log_file_id file, uint64_t offset,
                               std::span<char> into) {
  for (;;) {
    const auto count = ::pread(of(file).fd.get(), into.data(), into.size(),
                               static_cast<off_t>(offset));
    if (count >= 0 || errno != EINTR)
      return static_cast<size_t>(std::max<ssize_t>(count, 0));
  }
}

uint64_t inotify_log_files::size(ports::log_file_id file) const {
  struct stat info {};
  if (::fstat(of(file).fd.get(), &info) != 0)
    return 0;
  return static_cast<uint64_t>(std::max<off_t>(info.st_size, 0));
}

result<uint64_t> inotify_log_files::rotate(ports::log_file_id file,
                                           uint64_t limit, uint32_t keep) {
  auto& x = of(file);
  if (x.shift)
    x.shift->begin();
  auto done = detail::rotate(x.bytes, limit, keep);
  if (x.shift)
    x.shift->end(done ? *done : 0);
  return done;
}

uint64_t inotify_log_files::discard(ports::log_file_id file, uint64_t limit) {
  auto& x = of(file);
  if (x.shift && is_on_full_disk(x.bytes.path))
    x.shift->note_full_disk();
  if (x.shift)
    x.shift->begin();
  const auto done = detail::discard(x.bytes, limit);
  if (x.shift)
    x.shift->end(done, done);
  return done;
}

bool inotify_log_files::is_short_of_space(ports::log_file_id file) const {
  const auto& x = of(file);
  const auto now = std::chrono::steady_clock::now();
  auto& known = spaces_[x.device];
  if (now - known.when >= free_space_age_max)
    known = {now, has_little_space(x.fd.get())};
  return known.is_short;
}

// All or nothing: no other process appends to these files.
bool inotify_log_files::append(const std::string& path,
                               std::string_view lines) {
  const auto opened = open_at(path, O_WRONLY | O_CREAT | O_APPEND, file_mode);
  const auto& fd = opened.fd;
  struct stat before {};
  if (!fd || ::fstat(fd.get(), &before) != 0)
    return false;
  if (write_all(fd.get(), lines) == 0)
    return true;
  [[maybe_unused]] const auto x = ::ftruncate(fd.get(), before.st_size);
  return false;
}

void inotify_log_files::close(ports::log_file_id file) {
  const auto lock = std::lock_guard{mutex_};
  const auto i = files_.find(file);
  assert(i != files_.end());
  disarm(file, i->second);
  files_.erase(i);
}

// -- growth -------------------------------------------------------------------

// The mutex is held until the watch is known: its event may come at once.
void inotify_log_files::call_when_grown(ports::log_file_id file,
                                        std::function<void()> fn) {
  const auto lock = std::lock_guard{mutex_};
  auto& x = of(file);
  x.call = std::move(fn);
  start_watching();
  if (!arm(file, x))
    wake_later(file);
}

void inotify_log_files::start_watching() {
  if (inotify_)
    return;
  inotify_.reset(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (inotify_)
    loop_.post([this, fd = inotify_.get(), alive = alive_] {
      if (*alive)
        loop_.watch(fd, EPOLLIN, [this](uint32_t) { on_events(); });
    });
}

// By descriptor, so that a file without a name is found, too. For one event
// only: until it is armed again, a write triggers no watch.
bool inotify_log_files::arm(ports::log_file_id file, entry& x) {
  const auto path = "/proc/self/fd/" + std::to_string(x.fd.get());
  const auto watch
    = ::inotify_add_watch(inotify_.get(), path.c_str(), IN_MODIFY | IN_ONESHOT);
  if (watch < 0)
    return false;
  if (x.watch != watch) {
    disarm(file, x);
    x.watch = watch;
    watches_.emplace(watch, file);
  }
  return true;
}

void inotify_log_files::disarm(ports::log_file_id file, entry& x) {
  if (x.watch < 0)
    return;
  const auto [begin, end] = watches_.equal_range(x.watch);
  const auto i = std::find_if(
    begin, end, [&](const auto& pair) { return pair.second == file; });
  if (std::next(begin) == end)
    ::inotify_rm_watch(inotify_.get(), x.watch);
  watches_.erase(i);
  x.watch = -1;
}

void inotify_log_files::on_events() {
  alignas(inotify_event) std::array<char, events_size> buffer;
  for (;;) {
    const auto size = ::read(inotify_.get(), buffer.data(), buffer.size());
    if (size <= 0)
      return;
    for (auto i = size_t{0}; i < static_cast<size_t>(size);) {
      const auto& event
        = *reinterpret_cast<const inotify_event*>(buffer.data() + i);
      if ((event.mask & IN_Q_OVERFLOW) != 0)
        wake_all();
      else if ((event.mask & IN_MODIFY) != 0)
        wake(event.wd);
      i += sizeof event + event.len;
    }
  }
}

// The number of a watch is not reused, so an old event finds nothing.
void inotify_log_files::wake(int watch) {
  auto due = std::vector<std::function<void()>>{};
  {
    const auto lock = std::lock_guard{mutex_};
    const auto [begin, end] = watches_.equal_range(watch);
    for (auto i = begin; i != end; ++i) {
      auto& x = files_.at(i->second);
      x.watch = -1;
      due.push_back(std::exchange(x.call, {}));
    }
    watches_.erase(begin, end);
  }
  for (const auto& fn : due)
    if (fn)
      fn();
}

// Events were lost, and it is unknown which.
void inotify_log_files::wake_all() {
  auto due = std::vector<int>{};
  {
    const auto lock = std::lock_guard{mutex_};
    for (const auto& [watch, file] : watches_)
      due.push_back(watch);
  }
  for (const auto watch : due)
    wake(watch);
}

void inotify_log_files::wake_later(ports::log_file_id file) {
  loop_.post([this, file, alive = alive_] {
    if (!*alive)
      return;
    loop_.after(unwatched_interval, [this, file, alive] {
      auto fn = std::function<void()>{};
      if (*alive) {
        const auto lock = std::lock_guard{mutex_};
        if (const auto i = files_.find(file); i != files_.end())
          fn = std::exchange(i->second.call, {});
      }
      if (fn)
        fn();
    });
  });
}

inotify_log_files::entry& inotify_log_files::of(ports::log_file_id file) {
  const auto i = files_.find(file);
  assert(i != files_.end());
  return i->second;
}

const inotify_log_files::entry&
inotify_log_files::of(ports::log_file_id file) const {
  const auto i = files_.find(file);
  assert(i != files_.end());
  return i->second;
}

} // namespace actorrun::detail
