// Owns the FIFO that workers write torch's timer lines to.
#pragma once

#include "actors/ports/timer_source.hpp"
#include "messages/result.hpp"
#include "runtime/os/reactor.hpp"
#include "runtime/os/run_folder.hpp"
#include "runtime/os/unique_fd.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include <sys/stat.h>

namespace actorrun::detail {

/// A FIFO that only this user may use. It is open for writing as well, so it
/// never ends, however often its writers come and go. No other process reads
/// it.
class timer_fifo final : public ports::timer_source {
public:
  /// Makes the FIFO, or takes over one that this user has left behind.
  /// @param loop Lives longer.
  /// @param path Made absolute.
  /// @retval errc::address_in_use  another process reads from it
  /// @retval errc::bad_argument    it cannot be made or opened, or is no FIFO,
  ///         or another user's; the text says so. What was there is untouched.
  static result<std::unique_ptr<timer_fifo>> open(reactor& loop,
                                                  const std::string& path);

  /// Makes a private one in the folder of the user's jobs.
  /// @retval errc::system_failure, errc::cannot_listen  the folder cannot be used
  /// @retval errc::bad_argument   as above
  static result<std::unique_ptr<timer_fifo>> open_private(reactor& loop);

  /// Removes the FIFO, unless another file has its path by now, and those left
  /// in the folder by killed agents.
  ~timer_fifo() override;

  timer_fifo(const timer_fifo&) = delete;
  timer_fifo& operator=(const timer_fifo&) = delete;

  /// Absolute.
  const std::string& path() const { return path_; }

  size_t read(std::span<char> into) override;
  size_t size() const override;
  bool is_full() const override;
  core::duration wall_offset() const override;
  void call_when_ready(std::function<void()> fn) override;

private:
  timer_fifo(reactor& loop, std::string path, unique_fd fd);

  std::string path_;
  unique_fd fd_;
  dev_t device_ = 0; ///< With the next: which file it is.
  ino_t inode_ = 0;
  readiness readiness_;
  std::optional<run_folder> folder_; ///< Set if it is private.
};

} // namespace actorrun::detail
