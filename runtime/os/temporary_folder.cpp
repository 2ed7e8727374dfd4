#include "runtime/os/temporary_folder.hpp"

#include "messages/formatted.hpp"
#include "runtime/os/resource_limits.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <random>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

namespace actorrun::detail {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view folder_prefix = "actorrun_";
constexpr mode_t private_mode = S_IRWXU;

constexpr size_t suffix_size = 8; // characters
constexpr std::string_view random_characters
  = "abcdefghijklmnopqrstuvwxyz0123456789_";

/// At most this many random names are tried.
constexpr int attempts_max = 100;

std::string random_text() {
  auto bytes = std::string(suffix_size, '\0');
  while (::getrandom(bytes.data(), bytes.size(), 0)
         != static_cast<ssize_t>(bytes.size())) {
  }
  for (auto& x : bytes)
    x = random_characters[static_cast<unsigned char>(x)
                          % random_characters.size()];
  return bytes;
}

// Where it is made, and where `sweep` searches.
std::string parent_folder() {
  const auto* chosen = std::getenv("TMPDIR");
  return chosen != nullptr && *chosen == '/' ? chosen : "/tmp";
}

unique_fd open_folder(const std::string& path) {
  return unique_fd{
    ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
}

// Succeeds only if the program that owned the folder has died.
unique_fd take_over(const std::string& path) {
  auto fd = open_folder(path);
  if (fd && ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0)
    fd.reset();
  return fd;
}

// Another program may remove it between our making it and our locking it. A file
// system without locks, as Lustre may be one, does for us: nothing is removed there
// that cannot be locked.
bool lock_new(const std::string& path, unique_fd& out) {
  out = open_folder(path);
  while (out && ::flock(out.get(), LOCK_EX) != 0 && errno == EINTR) {
  }
  struct stat info {};
  return out && ::fstat(out.get(), &info) == 0 && info.st_nlink > 0;
}

bool is_ours(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)
         && info.st_uid == ::geteuid();
}

/// All below `parent` that are called as ours are.
std::vector<std::string> find_candidates(const std::string& parent) {
  auto out = std::vector<std::string>{};
  auto error = std::error_code{};
  auto i = fs::directory_iterator{parent, error};
  for (; !error && i != fs::directory_iterator{}; i.increment(error)) {
    const auto name = i->path().filename().string();
    if (name.starts_with(folder_prefix)
        && name.size() == folder_prefix.size() + suffix_size)
      out.push_back(i->path().string());
  }
  return out;
}

} // namespace

failure cannot_make_folder(const std::string& path, int error) {
  return {errc::log_failed, formatted("the log folder {} cannot be made: {}",
                                      path, system_error_text(error))};
}

result<std::string> make_private_folder(const std::string& prefix) {
  for (auto i = 0; i < attempts_max; ++i) {
    auto path = prefix + random_text();
    if (::mkdir(path.c_str(), private_mode) == 0)
      return path;
    if (errno != EEXIST)
      return cannot_make_folder(path, errno);
  }
  return cannot_make_folder(prefix + "*", EEXIST);
}

namespace {

// A file server may give what we make another owner: then a file that is made
// in the folder has the same one.
bool is_own_folder(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0 || (info.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return false;
  if (info.st_uid == ::geteuid())
    return true;
  const auto name = random_text();
  const auto probe = unique_fd{
    ::openat(fd, name.c_str(),
             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR)};
  struct stat made {};
  const auto is_same
    = probe && ::fstat(probe.get(), &made) == 0 && made.st_uid == info.st_uid;
  if (probe)
    ::unlinkat(fd, name.c_str(), 0);
  return is_same;
}

} // namespace

result<folder_handle> make_private_folder(const folder_handle& base,
                                          const std::string& prefix) {
  const auto parent = base.path() == "/" ? "/" : base.path() + "/";
  for (auto i = 0; i < attempts_max; ++i) {
    const auto name = prefix + random_text();
    if (::mkdirat(base.fd(), name.c_str(), private_mode) == 0) {
      auto made = base.open_folder(name);
      if (!made)
        return cannot_make_folder(parent + name, made.error);
      if (!is_own_folder(made.fd.get()))
        return failure{errc::log_failed,
                       formatted("the log folder {}{} was replaced by another "
                                 "one: choose one that no other user can "
                                 "write to",
                                 parent, name)};
      return folder_handle{std::move(made.fd), parent + name};
    }
    if (errno != EEXIST)
      return cannot_make_folder(parent + name, errno);
  }
  return cannot_make_folder(parent + prefix + "*", EEXIST);
}

result<temporary_folder> temporary_folder::make() {
  const auto name = "/" + std::string{folder_prefix};
  auto x = temporary_folder{};
  for (auto i = 0; i < attempts_max; ++i) {
    auto path = make_private_folder(parent_folder() + name);
    for (const auto* other : {"/tmp", "/dev/shm"})
      if (!path)
        path = make_private_folder(other + name);
    if (!path)
      return path.error();
    x.path_ = std::move(*path);
    if (lock_new(x.path_, x.lock_))
      return x;
    ::rmdir(x.path_.c_str());
  }
  return cannot_make_folder(x.path_, ENOENT);
}

void temporary_folder::sweep() {
  const auto all = find_candidates(parent_folder());
  auto chosen = std::vector<std::string>{};
  std::ranges::sample(all, std::back_inserter(chosen), sweep_max,
                      std::minstd_rand{std::random_device{}()});
  for (const auto& path : chosen) {
    if (!is_ours(path))
      continue;
    if (const auto lock = take_over(path)) {
      remove_unless_used(lock.get());
      ::rmdir(path.c_str()); // Fails if it is used.
    }
  }
}

void temporary_folder::remove_if_unused() const {
  remove_unless_used(lock_.get());
  ::rmdir(path_.c_str()); // Fails if it is used.
  sweep();
}

result<folder_handle> temporary_folder::open() const {
  auto fd
    = unique_fd{::openat(lock_.get(), ".", O_PATH | O_DIRECTORY | O_CLOEXEC)};
  if (!fd)
    return cannot_make_folder(path_, errno);
  return folder_handle{std::move(fd), path_};
}

} // namespace actorrun::detail
