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

template <class F>
F* real(const char* name) {
  return reinterpret_cast<F*>(::dlsym(RTLD_NEXT, name));
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
  return real<int(const char*, int, mode_t)>("open")(path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const auto mode = va_arg(list, mode_t);
  va_end(list);
  hang_if_inside(std::string_view{path});
  return real<int(const char*, int, mode_t)>("open64")(path, flags, mode);
}

int openat(int folder, const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const auto mode = va_arg(list, mode_t);
  va_end(list);
  hang_if_inside(folder, path);
  return real<int(int, const char*, int, mode_t)>("openat")(folder, path, flags,
                                                            mode);
}

int mkdirat(int folder, const char* path, mode_t mode) noexcept {
  hang_if_inside(folder, path);
  return real<int(int, const char*, mode_t)>("mkdirat")(folder, path, mode);
}

int mkdir(const char* path, mode_t mode) noexcept {
  hang_if_inside(std::string_view{path});
  return real<int(const char*, mode_t)>("mkdir")(path, mode);
}

ssize_t pread(int fd, void* to, size_t size, off_t offset) {
  hang_if_inside(path_of{fd}.view());
  return real<ssize_t(int, void*, size_t, off_t)>("pread")(fd, to, size,
                                                           offset);
}

ssize_t pread64(int fd, void* to, size_t size, off64_t offset) {
  hang_if_inside(path_of{fd}.view());
  return real<ssize_t(int, void*, size_t, off64_t)>("pread64")(fd, to, size,
                                                               offset);
}

int fstat(int fd, struct stat* to) noexcept {
  hang_if_inside(path_of{fd}.view());
  return real<int(int, struct stat*)>("fstat")(fd, to);
}

} // extern "C"
