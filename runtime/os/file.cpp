#include "runtime/os/file.hpp"

#include "runtime/os/folder.hpp"
#include "runtime/os/private_name.hpp"
#include "runtime/os/resource_limits.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace actorrun::detail {

std::string kind_of_file(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFDIR:
      return "a directory";
    case S_IFIFO:
      return "a FIFO";
    case S_IFLNK:
      return "a symbolic link";
    case S_IFSOCK:
      return "a socket";
    default:
      return "a device";
  }
}

// The first check keeps devices from being opened; the second one, of what was
// opened, is the one that counts.
result<std::optional<regular_file>> open_regular_file(const std::string& path) {
  const auto where = locate(path);
  if (!where && where.parent.error == ENOENT)
    return std::optional<regular_file>{};
  if (!where)
    return system_failure("it cannot be read: " + where.parent.why);
  const auto* name = where.name.c_str();
  struct stat facts {};
  if (::fstatat(where.at(), name, &facts, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT || errno == ENOTDIR)
      return std::optional<regular_file>{};
    return system_failure("it cannot be read: " + system_error_text(errno));
  }
  if (!S_ISREG(facts.st_mode))
    return system_failure("it is " + kind_of_file(facts.st_mode));
  auto fd = unique_fd{
    ::openat(where.at(), name,
             O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)};
  if (!fd || ::fstat(fd.get(), &facts) != 0)
    return system_failure("it cannot be read: " + system_error_text(errno));
  if (!S_ISREG(facts.st_mode))
    return system_failure("it is " + kind_of_file(facts.st_mode));
  if (facts.st_uid != ::geteuid())
    return system_failure("it belongs to another user");
  return std::optional{regular_file{std::move(fd), uint64_t(facts.st_size)}};
}

std::string read_part(const regular_file& file, uint64_t offset, size_t limit) {
  auto out = std::string(limit, '\0');
  auto size = size_t{0};
  while (size < limit) {
    const auto n = ::pread(file.fd.get(), out.data() + size, limit - size,
                           static_cast<off_t>(offset + size));
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      break;
    size += static_cast<size_t>(n);
  }
  out.resize(size);
  return out;
}

// These files say that they have 0 bytes, so their end is found by reading.
std::string read_kernel_file(const std::string& path, size_t limit) {
  const auto fd = unique_fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  auto out = std::string{};
  auto part = std::array<char, 16 * 1'024>{};
  while (fd && out.size() < limit) {
    const auto n = ::read(fd.get(), part.data(),
                          std::min(part.size(), limit - out.size()));
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      break;
    out.append(part.data(), static_cast<size_t>(n));
  }
  return out;
}

namespace {

template <class Write>
int write_all_by(Write write, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto n = write(bytes);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return n < 0 ? errno : EIO;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return 0;
}

} // namespace

int write_all(int fd, std::string_view bytes) {
  return write_all_by(
    [fd](std::string_view x) { return ::write(fd, x.data(), x.size()); },
    bytes);
}

int write_all_at(int fd, std::string_view bytes, off_t offset) {
  return write_all_by(
    [fd, &offset](std::string_view x) {
      const auto n = ::pwrite(fd, x.data(), x.size(), offset);
      offset += std::max<ssize_t>(n, 0);
      return n;
    },
    bytes);
}

int replace_file(const std::string& path, std::string_view bytes, mode_t mode) {
  const auto draft = path + "." + private_name(".tmp");
  const auto fd = unique_fd{
    ::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)};
  if (!fd)
    return errno;
  auto error = write_all(fd.get(), bytes);
  if (error == 0 && ::rename(draft.c_str(), path.c_str()) != 0)
    error = errno;
  if (error != 0)
    ::unlink(draft.c_str());
  return error;
}

} // namespace actorrun::detail
