#include "runtime/os/folder.hpp"

#include "messages/formatted.hpp"
#include "runtime/os/file.hpp"
#include "runtime/os/resource_limits.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace actorrun::detail {

namespace {

constexpr auto folder_flags = O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW;

int open_beneath(int base, const std::string& name, int flags, mode_t mode) {
  auto how = open_how{};
  how.flags = static_cast<uint32_t>(flags);
  how.mode = (flags & O_CREAT) != 0 ? mode : 0;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  return static_cast<int>(
    ::syscall(SYS_openat2, base, name.c_str(), &how, sizeof how));
}

bool writes(int flags) {
  return (flags & O_ACCMODE) != O_RDONLY;
}

opening refused(int error, std::string why) {
  return {.fd = {}, .error = error, .why = std::move(why)};
}

opening refused(int error) {
  return refused(error, system_error_text(error));
}

} // namespace

// The kernel's answer does not say which part of the name it refuses, and old
// kernels and containers do not have the call: then it is done by hand.
opening folder_handle::open_below(const std::string& name, int flags,
                                  mode_t mode) const {
  flags |= O_NOFOLLOW | O_CLOEXEC;
  auto fd = unique_fd{open_beneath(fd_.get(), name, flags, mode)};
  if (fd)
    return {.fd = std::move(fd)};
  return errno == ENOENT ? refused(ENOENT) : walk(name, flags, mode);
}

opening folder_handle::walk(const std::string& name, int flags,
                            mode_t mode) const {
  auto parent = unique_fd{};
  auto at = fd_.get();
  for (size_t begin = 0;;) {
    const auto end = name.find('/', begin);
    const auto part = name.substr(begin, end - begin);
    if (part.empty() || part == "..")
      return refused(EINVAL);
    const auto is_last = end == name.npos;
    auto next = unique_fd{
      ::openat(at, part.c_str(), is_last ? flags : folder_flags, mode)};
    if (!next)
      return refusal(at, name.substr(0, end), errno);
    if (is_last)
      return {.fd = std::move(next)};
    parent = std::move(next);
    at = parent.get();
    begin = end + 1;
  }
}

// The errno of a link depends on the flags.
opening folder_handle::refusal(int parent, const std::string& name,
                               int error) const {
  const auto leaf = name.substr(name.rfind('/') + 1);
  struct stat info {};
  if (::fstatat(parent, leaf.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
    return refused(error);
  if (S_ISLNK(info.st_mode))
    return refused(ELOOP,
                   formatted("{}/{} is a symbolic link, and links there are "
                             "not followed: remove it",
                             path_, name));
  if (error == ENXIO)
    return refused(error, formatted("{}/{} is {}: remove it", path_, name,
                                    kind_of_file(info.st_mode)));
  return refused(error);
}

opening folder_handle::check(opening x, const std::string& name,
                             int flags) const {
  struct stat info {};
  struct stat own {};
  if (::fstat(x.fd.get(), &info) != 0 || ::fstat(fd_.get(), &own) != 0)
    return refused(errno);
  const auto refuse = [&](int error, const std::string& what) {
    return refused(error, formatted("{}/{} {}: remove it", path_, name, what));
  };
  if (!S_ISREG(info.st_mode))
    return refuse(EINVAL, "is " + kind_of_file(info.st_mode));
  if (!writes(flags))
    return x;
  if (info.st_nlink > 1)
    return refuse(EMLINK, "is a hard link to a file with other names");
  if (info.st_uid != ::geteuid() && info.st_uid != own.st_uid)
    return refuse(EPERM, "belongs to another user");
  if ((flags & O_TRUNC) != 0 && ::ftruncate(x.fd.get(), 0) != 0)
    return refused(errno);
  return x;
}

// O_NONBLOCK is for the open alone: that of a FIFO would wait.
opening folder_handle::open_file(const std::string& name, int flags,
                                 mode_t mode) const {
  auto x = open_below(name, (flags & ~O_TRUNC) | O_NONBLOCK | O_NOCTTY, mode);
  if (!x)
    return x;
  x = check(std::move(x), name, flags);
  if (x && ::fcntl(x.fd.get(), F_SETFL, flags & O_APPEND) != 0)
    return refused(errno);
  return x;
}

opening folder_handle::open_folder(const std::string& name) const {
  return open_below(name, folder_flags, 0);
}

opening folder_handle::open_parent(const std::string& name) const {
  const auto slash = name.rfind('/');
  return open_folder(slash == name.npos ? "." : name.substr(0, slash));
}

// -- what is in a folder ------------------------------------------------------

bool is_open_to_others(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0 || (info.st_mode & S_ISVTX) != 0)
    return false;
  const auto is_own_group
    = info.st_gid == ::getegid() && ::getegid() == ::geteuid();
  return (info.st_mode & S_IWOTH) != 0
         || ((info.st_mode & S_IWGRP) != 0 && !is_own_group);
}

namespace {

/// The entries of a folder, open.
class listing {
public:
  explicit listing(int fd)
    : folder_(::fdopendir(
      ::openat(fd, ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC))) {}
  listing(const listing&) = delete;
  listing& operator=(const listing&) = delete;
  ~listing() {
    if (folder_ != nullptr)
      ::closedir(folder_);
  }

  explicit operator bool() const { return folder_ != nullptr; }

  /// None: that was all.
  const char* next() {
    for (;;) {
      const auto* entry = ::readdir(folder_);
      if (entry == nullptr)
        return nullptr;
      if (std::strcmp(entry->d_name, ".") != 0
          && std::strcmp(entry->d_name, "..") != 0)
        return entry->d_name;
    }
  }

private:
  DIR* folder_;
};

void remove_folders(int fd) {
  auto all = listing{fd};
  if (!all)
    return;
  while (const auto* name = all.next()) {
    if (const auto below = unique_fd{::openat(fd, name, folder_flags)})
      remove_folders(below.get());
    ::unlinkat(fd, name, AT_REMOVEDIR);
  }
}

} // namespace

bool holds_files(int fd) {
  auto all = listing{fd};
  if (!all)
    return true;
  while (const auto* name = all.next()) {
    const auto below = unique_fd{::openat(fd, name, folder_flags)};
    if (!below || holds_files(below.get()))
      return true;
  }
  return false;
}

void remove_unless_used(int fd) {
  if (!holds_files(fd))
    remove_folders(fd);
}

// -- by path ------------------------------------------------------------------

namespace {

struct guarded_folders {
  std::mutex mutex;
  std::vector<std::weak_ptr<const folder_handle>> all; // Guarded by the mutex.
};

// Threads that hang in a file system may outlive all others.
guarded_folders& guarded() {
  static auto& x = *new guarded_folders{};
  return x;
}

} // namespace

std::shared_ptr<const folder_handle> guard(folder_handle x) {
  auto out = std::make_shared<const folder_handle>(std::move(x));
  auto& known = guarded();
  const auto lock = std::lock_guard{known.mutex};
  std::erase_if(known.all, [](const auto& y) { return y.expired(); });
  known.all.push_back(out);
  return out;
}

place place_of(const std::string& path) {
  auto& known = guarded();
  const auto lock = std::lock_guard{known.mutex};
  for (const auto& x : known.all) {
    auto base = x.lock();
    if (!base)
      continue;
    const auto size = base->path().size();
    if (path.size() > size + 1 && path[size] == '/'
        && path.starts_with(base->path()))
      return {.base = std::move(base), .name = path.substr(size + 1)};
  }
  return {.base = nullptr, .name = path};
}

opening open_at(const std::string& path, int flags, mode_t mode) {
  if (const auto x = place_of(path); x.base)
    return x.base->open_file(x.name, flags, mode);
  auto fd = unique_fd{::open(path.c_str(), flags | O_CLOEXEC | O_NOCTTY, mode)};
  return fd ? opening{.fd = std::move(fd)} : refused(errno);
}

int located::at() const {
  return is_guarded ? parent.fd.get() : AT_FDCWD;
}

located locate(const std::string& path) {
  auto x = place_of(path);
  if (!x.base)
    return {.parent = {}, .name = std::move(x.name), .is_guarded = false};
  return {.parent = x.base->open_parent(x.name),
          .name = x.name.substr(x.name.rfind('/') + 1),
          .is_guarded = true};
}

} // namespace actorrun::detail
