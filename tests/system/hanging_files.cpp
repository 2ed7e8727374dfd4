// Preloaded into a program, makes one folder hang as a network file system does
// whose server is gone: while the file HANGING_WHILE exists, calls for files in
// HANGING_FOLDER do not return.
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

namespace {

constexpr useconds_t poll_us = 5'000;

/// What the loader would have found without this library. It is looked up before
/// `main`, because `dlsym` takes a lock: a warden, which is a copy of a program with
/// threads, would wait for it for ever if one of them loads a library just then.
template <class F>
struct next {
  explicit next(const char* name)
    : call(reinterpret_cast<F*>(::dlsym(RTLD_NEXT, name))) {}

  F* call;
};

struct next_functions {
  next<int(const char*, int, mode_t)> open{"open"};
  next<int(const char*, int, mode_t)> open64{"open64"};
  next<int(int, const char*, int, mode_t)> openat{"openat"};
  next<int(int, const char*, mode_t)> mkdirat{"mkdirat"};
  next<int(const char*, mode_t)> mkdir{"mkdir"};
  next<ssize_t(int, void*, size_t, off_t)> pread{"pread"};
  next<ssize_t(int, void*, size_t, off64_t)> pread64{"pread64"};
  next<int(int, struct stat*)> fstat{"fstat"};
};

/// Libraries that are loaded earlier may call before `look_up_early` has.
const next_functions& real() {
  static const auto all = next_functions{};
  return all;
}

[[gnu::constructor]] void look_up_early() {
  real();
}

/// Where a descriptor leads. In buffers of its own: a warden, which is a copy of a
/// program with threads, must not allocate.
struct path_of {
  explicit path_of(int fd) {
    char link[32];
    std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const auto size = ::readlink(link, text, sizeof text);
    length = size < 0 ? 0 : size_t(size);
  }

  std::string_view view() const { return {text, length}; }

  char text[4'096];
  size_t length = 0;
};

void hang_if_inside(std::string_view path) {
  const auto* folder = std::getenv("HANGING_FOLDER");
  const auto* flag = std::getenv("HANGING_WHILE");
  if (folder == nullptr || flag == nullptr || !path.starts_with(folder))
    return;
  while (::access(flag, F_OK) == 0)
    ::usleep(poll_us);
}

void hang_if_inside(int folder, const char* path) {
  if (path[0] == '/' || folder == AT_FDCWD)
    hang_if_inside(std::string_view{path});
  else
    hang_if_inside(path_of{folder}.view());
}

} // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const auto mode = va_arg(list, mode_t);
  va_end(list);
  hang_if_inside(std::string_view{path});
  return real().open.call(path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const auto mode = va_arg(list, mode_t);
  va_end(list);
  hang_if_inside(std::string_view{path});
  return real().open64.call(path, flags, mode);
}

int openat(int folder, const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const auto mode = va_arg(list, mode_t);
  va_end(list);
  hang_if_inside(folder, path);
  return real().openat.call(folder, path, flags, mode);
}

int mkdirat(int folder, const char* path, mode_t mode) noexcept {
  hang_if_inside(folder, path);
  return real().mkdirat.call(folder, path, mode);
}

int mkdir(const char* path, mode_t mode) noexcept {
  hang_if_inside(std::string_view{path});
  return real().mkdir.call(path, mode);
}

ssize_t pread(int fd, void* to, size_t size, off_t offset) {
  hang_if_inside(path_of{fd}.view());
  return real().pread.call(fd, to, size, offset);
}

ssize_t pread64(int fd, void* to, size_t size, off64_t offset) {
  hang_if_inside(path_of{fd}.view());
  return real().pread64.call(fd, to, size, offset);
}

int fstat(int fd, struct stat* to) noexcept {
  hang_if_inside(path_of{fd}.view());
  return real().fstat.call(fd, to);
}

} // extern "C"
