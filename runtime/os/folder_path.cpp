#include "runtime/os/folder_path.hpp"

#include "runtime/os/resource_limits.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>

namespace actorrun::detail {

namespace {

constexpr auto path_flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
constexpr mode_t usual_mode = S_IRWXU | S_IRWXG | S_IRWXO; // The umask counts.

opening opened(int fd) {
  if (fd >= 0)
    return {.fd = unique_fd{fd}};
  return {.fd = {}, .error = errno, .why = system_error_text(errno)};
}

} // namespace

folder_path::~folder_path() {
  for (auto i = made_.rbegin(); i != made_.rend(); ++i)
    ::unlinkat(i->parent.get(), i->name.c_str(), AT_REMOVEDIR);
}

opening folder_path::make(const std::string& path) {
  auto at = opened(::open("/", path_flags));
  for (size_t begin = 1; at && begin < path.size();) {
    const auto end = std::min(path.find('/', begin), path.size());
    if (end > begin)
      at = step(at.fd.get(), path.substr(begin, end - begin),
                path.substr(0, begin > 1 ? begin - 1 : 1));
    begin = end + 1;
  }
  if (at && exposed_.empty() && is_open_to_others(at.fd.get()))
    exposed_ = path;
  return at;
}

// Below a folder that was made all others are made, too.
opening folder_path::step(int at, const std::string& name,
                          const std::string& above) {
  if (made_.empty()) {
    auto found = opened(::openat(at, name.c_str(), path_flags));
    if (found || found.error != ENOENT)
      return found;
  }
  if (::mkdirat(at, name.c_str(), usual_mode) == 0) {
    if (made_.empty() && is_open_to_others(at))
      exposed_ = above;
    add(unique_fd{::openat(at, ".", path_flags)}, name);
  } else if (errno != EEXIST) { // Another agent may have made it just now.
    return opened(-1);
  }
  return opened(::openat(at, name.c_str(), path_flags | O_NOFOLLOW));
}

} // namespace actorrun::detail
