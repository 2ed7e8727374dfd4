#include "runtime/os/temporary_folder.hpp"

#include "actors/core/text.hpp"
#include "messages/formatted.hpp"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
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

constexpr size_t random_size = 8; // characters
constexpr std::string_view random_characters
  = "abcdefghijklmnopqrstuvwxyz0123456789_";

/// At most so many random names are tried.
constexpr int attempts_max = 100;

std::string random_text() {
  auto bytes = std::string(random_size, '\0');
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

// Another program may remove it between our making it and our locking it.
bool lock_new(const std::string& path, unique_fd& out) {
  out = open_folder(path);
  struct stat info {};
  return out && ::flock(out.get(), LOCK_EX) == 0
         && ::fstat(out.get(), &info) == 0 && info.st_nlink > 0;
}

bool is_ours(const fs::path& path) {
  struct stat info {};
  return path.filename().string().starts_with(folder_prefix)
         && path.filename().string().size()
              == folder_prefix.size() + random_size
         && ::lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)
         && info.st_uid == ::geteuid();
}

} // namespace

failure cannot_make_folder(const std::string& path, int error) {
  return {errc::log_failed, formatted("the log folder {} cannot be made: {}",
                                      path, core::error_text(error))};
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

bool holds_files(const std::string& path) {
  auto error = std::error_code{};
  auto i = fs::recursive_directory_iterator{path, error};
  for (; !error && i != fs::recursive_directory_iterator{}; i.increment(error))
    if (i->symlink_status(error).type() != fs::file_type::directory)
      return true;
  return false;
}

void remove_unless_used(const std::string& path) {
  auto folders = std::vector<std::string>{path};
  auto error = std::error_code{};
  auto i = fs::recursive_directory_iterator{path, error};
  for (; !error && i != fs::recursive_directory_iterator{};
       i.increment(error)) {
    if (i->symlink_status(error).type() != fs::file_type::directory)
      return;
    folders.push_back(i->path().string());
  }
  for (auto k = folders.rbegin(); k != folders.rend(); ++k)
    ::rmdir(k->c_str());
}

result<temporary_folder> temporary_folder::make() {
  const auto name = "/" + std::string{folder_prefix};
  auto x = temporary_folder{};
  for (auto i = 0; i < attempts_max; ++i) {
    auto path = make_private_folder(parent_folder() + name);
    if (!path)
      path = make_private_folder("/tmp" + name);
    if (!path)
      return path.error();
    x.path_ = std::move(*path);
    if (lock_new(x.path_, x.lock_))
      return x;
  }
  return cannot_make_folder(x.path_, ENOENT);
}

void temporary_folder::sweep() {
  auto error = std::error_code{};
  auto left = sweep_max;
  auto i = fs::directory_iterator{parent_folder(), error};
  for (; !error && left > 0 && i != fs::directory_iterator{};
       i.increment(error)) {
    if (!is_ours(i->path()))
      continue;
    --left;
    const auto path = i->path().string();
    if (const auto lock = take_over(path))
      remove_unless_used(path);
  }
}

void temporary_folder::remove_if_unused() const {
  remove_unless_used(path_);
  sweep();
}

} // namespace actorrun::detail
