// Writes to a standard stream of this program without waiting for its reader.
#pragma once

#include "runtime/os/unique_fd.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <sys/types.h>

namespace actorrun::detail {

/// How much a stream makes its writers wait.
enum class write_mode : uint8_t {
  closed, ///< Cannot be written to.
  direct, ///< A device such as `/dev/null`: takes everything at once.
  file, ///< Takes everything, but its disk or server may let a write wait: only
        ///< a thread that may block writes.
  nonblocking, ///< A pipe or terminal, opened once more for ourselves.
  socket,
  blocking, ///< A pipe or terminal that may not be opened again, as after su:
            ///< only a thread that may block writes.
};

/// Never changes the descriptor that the user's shell shares with us: what
/// O_NONBLOCK does to one holder of a description, it does to all.
class console_target {
public:
  /// Bytes written, and why there are not more: 0, or an errno.
  struct outcome {
    size_t bytes = 0;
    int error = 0;
  };

  /// @param fd Stays the caller's, and may be closed from now on.
  static console_target open(int fd);

  write_mode mode() const { return mode_; }

  /// To wait for room with; -1 if closed.
  int descriptor() const { return fd_.get(); }

  /// Whether both are the same file, pipe, terminal or socket. A closed one
  /// equals no other.
  bool is_same(const console_target& other) const;

  /// Writes until all is written or an error comes; EAGAIN: there is no room.
  /// Waits only in modes `file` and `blocking`. Raises no SIGPIPE.
  outcome write(std::string_view bytes) const;

  /// Enlarges the buffer of a pipe, as far as the system permits.
  void enlarge() const;

private:
  ssize_t write_once(std::string_view bytes) const;

  unique_fd fd_;
  write_mode mode_ = write_mode::closed;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  bool is_pipe_ = false;
};

} // namespace actorrun::detail
