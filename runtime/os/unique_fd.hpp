// Owns one file descriptor.
#pragma once

#include <utility>

#include <unistd.h>

namespace actorrun::detail {

/// Its destructor closes the descriptor. Empty is -1.
class unique_fd {
public:
  unique_fd() = default;
  explicit unique_fd(int fd) : fd_(fd) {}
  unique_fd(unique_fd&& other) noexcept : fd_(other.release()) {}
  ~unique_fd() { reset(); }

  unique_fd& operator=(unique_fd&& other) noexcept {
    reset(other.release());
    return *this;
  }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

  /// Hands the descriptor to the caller.
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }

  void reset(int fd = -1) {
    const auto old = std::exchange(fd_, fd);
    if (old >= 0 && old != fd)
      ::close(old);
  }

private:
  int fd_ = -1;
};

} // namespace actorrun::detail
