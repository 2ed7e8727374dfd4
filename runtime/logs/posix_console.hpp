// Writes lines to this program's standard output and standard error.
#pragma once

#include "actors/core/time.hpp"
#include "runtime/logs/console_queue.hpp"
#include "runtime/program_support.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <string_view>

#include <unistd.h>

namespace actorrun::detail {

/// Takes whole lines for two descriptors; no writer ever waits. Several may
/// live in one program: those for the same file share one order and never
/// interleave within a line.
class posix_console final : public program_console {
public:
  /// @param out May be the same file as `err`; both may be closed from now on.
  explicit posix_console(int out = STDOUT_FILENO, int err = STDERR_FILENO);

  /// The backlog is lost unless another console has the same file.
  ~posix_console() override;

  posix_console(const posix_console&) = delete;
  posix_console& operator=(const posix_console&) = delete;

  bool offer(core::output_stream stream, std::string_view lines) override;
  void call_when_ready(core::output_stream stream,
                       std::function<void()> fn) override;
  bool is_closed(core::output_stream stream) const override;

  void note(std::string_view lines) override;
  void say(core::output_stream stream, std::string_view lines) override;
  bool is_terminal(core::output_stream stream) const override;
  bool is_flushed() const override;

  /// Blocks until all is written, or the reader is gone, or `due` has come, or
  /// `give_up` was called.
  /// @returns as `is_flushed`
  bool flush(core::time_point due = core::time_point::max());

  /// Ends all calls of `flush`, from now on. Callable from any thread.
  void give_up();

  void call_when_flushed(std::function<void()> fn) override;

private:
  struct channel {
    bool is_terminal = false;
    std::shared_ptr<console_queue> queue;
  };

  const channel& of(core::output_stream x) const;

  channel out_;
  channel err_;
  std::atomic<bool> gave_up_ = false;
};

} // namespace actorrun::detail
