#include "runtime/notices/file_watcher.hpp"

#include "actors/core/failure.hpp"
#include "actors/core/protocol/membership_events.hpp"
#include "actors/core/text.hpp"
#include "messages/formatted.hpp"
#include "runtime/os/resource_limits.hpp"
#include "runtime/os/thread.hpp"
#include "runtime/os/unique_fd.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

namespace actorrun::detail {

namespace {

/// Longest time from one look to the next.
constexpr auto look_interval = std::chrono::seconds{1};

/// In bytes, of the beginning of a file.
constexpr size_t beginning_size = 1'024;

core::file_version version_of(const struct stat& info) {
  constexpr auto second_ns = int64_t{1'000'000'000};
  return {.device = info.st_dev,
          .inode = info.st_ino,
          .size = static_cast<uint64_t>(info.st_size),
          .written_ns = info.st_mtim.tv_sec * second_ns + info.st_mtim.tv_nsec};
}

/// Never waits for another process, as opening a FIFO would. What is no regular file
/// has no first line, but it is there.
core::file_look look_at(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0)
    return {};
  auto out = core::file_look{};
  out.version = version_of(info);
  out.is_line_whole = !S_ISREG(info.st_mode);
  if (!S_ISREG(info.st_mode))
    return out;
  const auto fd
    = unique_fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (!fd)
    return out;
  auto place = std::array<char, beginning_size>{};
  const auto n = ::read(fd.get(), place.data(), place.size());
  const auto text = std::string_view{
    place.data(), static_cast<size_t>(std::max<ssize_t>(n, 0))};
  const auto end = text.find('\n');
  out.is_line_whole = end != text.npos || text.size() == place.size();
  out.first_line = core::one_line(text.substr(0, end), core::notice_words_max);
  return out;
}

} // namespace

struct file_watcher::shared {
  std::string path;
  core::file_watch watch;
  unique_fd changes; ///< Of inotify; empty: there is none.
  unique_fd wake_up;

  std::mutex mutex;
  listener notify; // Guarded by the mutex; empty: the watch is over.

  bool is_over() {
    const auto lock = std::lock_guard{mutex};
    return notify == nullptr;
  }

  void run() {
    while (!is_over()) {
      const auto now = std::chrono::steady_clock::now();
      if (auto words = watch.step(look_at(path), now))
        return report(std::move(*words));
      wait(now);
    }
  }

  void report(std::string words) {
    const auto lock = std::lock_guard{mutex};
    if (const auto fn = std::exchange(notify, nullptr))
      fn(std::move(words));
  }

  void wait(core::time_point now) {
    using std::chrono::milliseconds;
    const auto most = core::duration{look_interval};
    const auto time
      = watch.due() ? std::clamp(*watch.due() - now, core::duration{0}, most)
                    : most;
    auto places = std::array{
      pollfd{.fd = wake_up.get(), .events = POLLIN, .revents = 0},
      pollfd{
        .fd = changes ? changes.get() : -1, .events = POLLIN, .revents = 0}};
    const auto until = std::chrono::steady_clock::now() + time;
    for (;;) {
      const auto left = std::chrono::ceil<milliseconds>(
        until - std::chrono::steady_clock::now());
      const auto n
        = ::poll(places.data(), places.size(),
                 static_cast<int>(std::max(left, milliseconds{0}).count()));
      if (n <= 0 || places[0].revents != 0 || is_about_file())
        return;
    }
  }

  /// Takes what inotify says. A folder of many files may have much to say of others.
  bool is_about_file() {
    const auto name = std::filesystem::path{path}.filename().string();
    alignas(inotify_event) auto place = std::array<char, 16 * 1'024>{};
    auto out = false;
    for (;;) {
      const auto n = ::read(changes.get(), place.data(), place.size());
      if (n <= 0)
        return out;
      for (ssize_t at = 0; at < n;) {
        auto event = inotify_event{};
        std::memcpy(&event, place.data() + at, sizeof event);
        const auto* text = place.data() + at + sizeof event;
        out |= event.len == 0
               || std::string_view{text, ::strnlen(text, event.len)} == name;
        at += static_cast<ssize_t>(sizeof event + event.len);
      }
    }
  }
};

file_watcher::file_watcher(std::string path, core::file_watch watch)
  : path_(std::move(path)), watch_(std::move(watch)) {}

result<std::unique_ptr<file_watcher>>
file_watcher::open(const std::string& path) {
  auto error = std::error_code{};
  const auto absolute = std::filesystem::absolute(path, error);
  if (error)
    return bad_argument(formatted("the notice file {} has no absolute path: {}",
                                  path, error.message()));
  const auto folder = absolute.parent_path().string();
  struct stat info {};
  const auto known = ::stat(folder.c_str(), &info) == 0;
  if (!known)
    return bad_argument(formatted(
      "the folder {} of the notice file {} cannot be watched: {}; make it"
      " before the start",
      folder, absolute.filename().string(), core::error_text(errno)));
  if (!S_ISDIR(info.st_mode) || !absolute.has_filename())
    return bad_argument(
      formatted("the notice file {} has to be a file in a folder", path));
  return std::unique_ptr<file_watcher>{new file_watcher{
    absolute.string(), core::file_watch{look_at(absolute.string()).version}}};
}

file_watcher::~file_watcher() {
  if (!shared_)
    return;
  const auto lock = std::lock_guard{shared_->mutex};
  shared_->notify = nullptr;
  ::eventfd_write(shared_->wake_up.get(), 1);
}

result<void> file_watcher::start(listener fn) {
  const auto x = std::make_shared<shared>(path_, watch_);
  x->notify = std::move(fn);
  x->wake_up.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!x->wake_up)
    return system_failure(formatted("the notice file {} cannot be watched: {}",
                                    path_, system_error_text(errno)));
  // Where the system gives none, looking each second is all.
  x->changes.reset(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  const auto folder = std::filesystem::path{path_}.parent_path().string();
  if (x->changes
      && ::inotify_add_watch(x->changes.get(), folder.c_str(),
                             IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE
                               | IN_MODIFY | IN_ATTRIB)
           < 0)
    x->changes.reset();
  if (!run_aside([x] { x->run(); }))
    return system_failure(formatted("the notice file {} cannot be watched: the"
                                    " system gives no thread",
                                    path_));
  shared_ = x;
  return {};
}

} // namespace actorrun::detail
