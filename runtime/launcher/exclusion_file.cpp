#include "runtime/launcher/exclusion_file.hpp"

#include "actors/core/protocol/exclusion_list.hpp"
#include "actors/core/text.hpp"
#include "messages/formatted.hpp"
#include "runtime/os/file.hpp"
#include "runtime/os/resource_limits.hpp"
#include "runtime/os/unique_fd.hpp"

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace actorrun::detail {

namespace {

/// Longest wait for other programs that change the list, each for milliseconds.
constexpr auto lock_limit = std::chrono::seconds{5};
constexpr auto lock_interval = std::chrono::milliseconds{20};

/// Longest wait for changes at the end.
constexpr auto changes_limit = std::chrono::seconds{6};

using list_edit = std::function<result<std::string>(std::string)>;

failure cannot_change(const std::string& path, int error) {
  return system_failure(formatted("{}: {}", path, system_error_text(error)));
}

failure broken_list(const std::string& path, const failure& why) {
  return {why.code,
          formatted("the list of excluded hosts {}: {}", path, why.text)};
}

result<std::string> content_of(int fd, const std::string& path) {
  struct stat facts {};
  if (::fstat(fd, &facts) != 0)
    return cannot_change(path, errno);
  if (!S_ISREG(facts.st_mode))
    return system_failure(
      formatted("{} is {}, not a file", path, kind_of_file(facts.st_mode)));
  // One byte more shows that there is too much.
  auto out = std::string(core::exclusion_list_size_max + 1, '\0');
  auto size = size_t{0};
  while (size < out.size()) {
    const auto n = ::pread(fd, out.data() + size, out.size() - size,
                           static_cast<off_t>(size));
    if (n < 0 && errno != EINTR)
      return cannot_change(path, errno);
    if (n == 0)
      break;
    size += n > 0 ? static_cast<size_t>(n) : 0;
  }
  out.resize(size);
  return out;
}

/// Whether the file is still the one at the path: another program may have put a newer
/// one there while this one waited for the lock.
bool is_at(int fd, const std::string& path) {
  struct stat own {};
  struct stat there {};
  return ::fstat(fd, &own) == 0 && ::stat(path.c_str(), &there) == 0
         && own.st_ino == there.st_ino && own.st_dev == there.st_dev;
}

/// The file at the path, locked until it is closed.
/// @param flags O_CREAT: it is made if there is none.
/// @returns no descriptor if there is no file
result<unique_fd> open_locked(const std::string& path, int flags) {
  constexpr auto mode = 0644;
  const auto due = std::chrono::steady_clock::now() + lock_limit;
  for (;;) {
    auto fd = unique_fd{
      ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | flags, mode)};
    if (!fd && errno == ENOENT && (flags & O_CREAT) == 0)
      return unique_fd{};
    if (!fd)
      return cannot_change(path, errno);
    const auto error = ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
    if (error == 0 && is_at(fd.get(), path))
      return fd;
    if (error != 0 && error != EWOULDBLOCK && error != EINTR)
      return cannot_change(path, error);
    if (std::chrono::steady_clock::now() >= due)
      return system_failure(
        formatted("{}: another program has locked it for {}", path,
                  core::duration_text(lock_limit)));
    if (error != 0)
      std::this_thread::sleep_for(lock_interval);
  }
}

/// Where a link leads: what is put in its place must not replace the link.
std::string real_path(const std::string& path) {
  const auto found = std::unique_ptr<char, decltype(&::free)>{
    ::realpath(path.c_str(), nullptr), &::free};
  return found ? found.get() : path;
}

result<void> change_list(const std::string& given, int flags,
                         const list_edit& edit) {
  const auto path = real_path(given);
  const auto fd = open_locked(path, flags);
  if (!fd)
    return fd.error();
  if (!*fd)
    return {};
  const auto before = content_of(fd->get(), path);
  if (!before)
    return before.error();
  const auto after = edit(*before);
  if (!after)
    return broken_list(path, after.error());
  struct stat facts {};
  if (*after == *before || ::fstat(fd->get(), &facts) != 0)
    return {};
  constexpr auto permissions = 0777;
  const auto mode = facts.st_mode & permissions;
  if (const auto error = replace_file(path, *after, mode); error != 0)
    return cannot_change(path, error);
  ::chmod(path.c_str(), mode); // The umask of this process is not the list's.
  return {};
}

/// Whether a file can be made there later. Leaves ENOENT if not.
bool has_folder(const std::string& path) {
  const auto folder = std::filesystem::path{path}.parent_path();
  return folder.empty() || ::access(folder.c_str(), F_OK) == 0;
}

int64_t unix_seconds_now() {
  const auto now = std::chrono::floor<std::chrono::seconds>(
    std::chrono::system_clock::now());
  return now.time_since_epoch().count();
}

} // namespace

result<std::vector<core::excluded_host>>
read_exclusion_file(const std::string& path) {
  const auto fd
    = unique_fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (!fd && errno == ENOENT && has_folder(path))
    return std::vector<core::excluded_host>{};
  if (!fd)
    return cannot_change(path, errno);
  const auto text = content_of(fd.get(), path);
  if (!text)
    return text.error();
  const auto hosts = core::parse_exclusion_list(*text);
  if (!hosts)
    return broken_list(path, hosts.error());
  auto out = std::vector<core::excluded_host>{};
  for (const auto& x : *hosts)
    out.push_back(core::to_excluded(x));
  return out;
}

exclusion_file::exclusion_file(std::string path, log lines)
  : path_(std::move(path)), lines_(std::move(lines)),
    tasks_("exclusions", false) {}

exclusion_file::~exclusion_file() {
  if (!tasks_.ask(changes_limit, [] { return true; }))
    lines_.warn(formatted("{} is not changed within {}", path_,
                          core::duration_text(changes_limit)));
}

void exclusion_file::add(core::excluded_host x) {
  tasks_.post([path = path_, lines = lines_, x = std::move(x)] {
    const auto listed = core::to_listed(x, unix_seconds_now());
    const auto done = change_list(path, O_CREAT, [&](std::string text) {
      return core::with_host(std::move(text), listed);
    });
    if (!done)
      lines.warn(formatted("host {} is not excluded beyond this job: {}",
                           x.host, done.error().text));
  });
}

void exclusion_file::remove(std::string host) {
  tasks_.post([path = path_, lines = lines_, host = std::move(host)] {
    const auto done = change_list(path, 0, [&](std::string text) {
      return core::without_host(text, host);
    });
    if (!done)
      lines.warn(formatted("host {} stays excluded beyond this job: {}", host,
                           done.error().text));
  });
}

} // namespace actorrun::detail
