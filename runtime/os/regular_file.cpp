#include "runtime/os/regular_file.hpp"

#include <cerrno>

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

namespace actorrun::detail {

namespace {

failure no(std::string why) {
  return {errc::system_failure, std::move(why)};
}

std::string kind_of(mode_t mode) {
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

} // namespace

// The look before the opening keeps devices from noticing; what counts is the
// look at what has been opened.
result<std::optional<regular_file>> open_regular_file(const std::string& path) {
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) != 0) {
    if (errno == ENOENT || errno == ENOTDIR)
      return std::optional<regular_file>{};
    return no(std::string{"it cannot be read: "} + ::strerrordesc_np(errno));
  }
  if (!S_ISREG(facts.st_mode))
    return no("it is " + kind_of(facts.st_mode));
  auto fd = unique_fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW
                                             | O_NONBLOCK | O_NOCTTY)};
  if (!fd || ::fstat(fd.get(), &facts) != 0)
    return no(std::string{"it cannot be read: "} + ::strerrordesc_np(errno));
  if (!S_ISREG(facts.st_mode))
    return no("it is " + kind_of(facts.st_mode));
  if (facts.st_uid != ::geteuid())
    return no("it belongs to another user");
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

} // namespace actorrun::detail
