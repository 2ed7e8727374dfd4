// Brings the output of the hosts to the console, as fast as that is read.
#pragma once

#include "actors/core/hosts/line_labeller.hpp"
#include "runtime/os/reactor.hpp"
#include "runtime/os/unique_fd.hpp"
#include "runtime/program_support.hpp"

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>

namespace actorrun::detail {

/// One output of one host. On the reactor's thread only.
class relayed_stream {
public:
  struct hooks {
    /// Takes the first lines, one by one, until it says that there are no more for
    /// it; null: all lines are for the console.
    /// @returns whether the line was taken
    std::function<bool(std::string_view line)> on_line;
    /// A sign of life (`core::life_sign`) has come, and is not shown; null: it is
    /// shown as all else.
    std::function<void()> on_life_sign;
    /// The console does not take more: call `resume` when it does.
    std::function<void()> on_blocked;
    /// Nothing follows, and the console has all; or `resume` or `cut` say so.
    std::function<void()> on_end;
  };

  /// @param fd Non-blocking.
  /// @param loop, console Live longer.
  relayed_stream(reactor& loop, program_console& console,
                 core::output_stream to, unique_fd fd, std::string label,
                 hooks calls);

  /// No call is made from then on.
  ~relayed_stream();

  relayed_stream(const relayed_stream&) = delete;
  relayed_stream& operator=(const relayed_stream&) = delete;

  /// Lines of now on go to the console.
  void pass_all() { hooks_.on_line = nullptr; }

  /// Goes on after `on_blocked`. @returns whether the console has taken what waits
  bool resume();

  core::output_stream target() const { return to_; }
  bool is_blocked() const { return !batch_.empty(); }
  bool is_ended() const { return is_ended_; }

  /// Reads no more, and drops what the console has not taken.
  void cut();

private:
  void read_some();
  void take(std::string_view bytes);
  void take_out_signs(std::string_view bytes);
  void end();
  void pause();
  bool flush();

  reactor& loop_;
  program_console& console_;
  core::output_stream to_;
  unique_fd fd_;
  core::line_labeller lines_;
  hooks hooks_;
  std::string sign_{};  ///< Maybe the beginning of a sign of life.
  std::string head_{};  ///< Of the line that `on_line` has not seen yet.
  std::string batch_{}; ///< Lines that the console has not taken.
  bool is_ended_ = false;
};

} // namespace actorrun::detail
