// Runs a command of the user beside the workers of a node.
#pragma once

#include "runtime/os/reactor.hpp"
#include "runtime/os/unique_fd.hpp"
#include "runtime/processes/warden.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

namespace actorrun::detail {

/// The command has a process group of its own, with nothing to read, and is killed with
/// all of that group when it ends, when this object stops it, when this program ends in
/// whatever way, and when a fence passes. Only the last line of each output is kept.
///
/// On the reactor's thread.
class side_command {
public:
  struct config {
    std::vector<std::string> environment; ///< `NAME=value`, the whole of it.
    std::shared_ptr<warden> guardian;     ///< Kills it if this program cannot.
    size_t line_size_max = 512;           ///< In bytes, of a last line.
  };

  struct ending {
    int code = 0;
    int signal = 0;         ///< 0: none has ended it.
    std::string last_out{}; ///< One printable line each; may be empty.
    std::string last_err{};
  };

  /// @param loop Lives longer.
  side_command(reactor& loop, config x) : loop_(loop), config_(std::move(x)) {}
  ~side_command();

  side_command(const side_command&) = delete;
  side_command& operator=(const side_command&) = delete;

  /// Starts `/bin/sh -c COMMAND`.
  /// @param on_end Is called once, when it has ended and was not stopped.
  /// @returns why it does not run; empty: it does
  /// @pre none runs
  std::string start(const std::string& command,
                    std::function<void(ending)> on_end);

  bool runs() const { return pid_ != 0; }

  /// Kills it, if it runs.
  void stop();

private:
  /// What it writes, as far as it may be its last line.
  struct output {
    unique_fd fd{};
    std::string end{};
    bool is_cut = false; ///< `end` begins within a line.

    std::string last_line(size_t size_max) const;
  };

  std::string spawn(const std::string& command, int out, int err);
  void open_output(output& to, unique_fd fd);
  void read_some(output& from);
  void take_end();
  void kill_group();
  void forget_process();

  reactor& loop_;
  config config_;
  std::function<void(ending)> on_end_;
  warden::registration guarded_;
  pid_t pid_ = 0; ///< 0: none runs.
  unique_fd pidfd_;
  output out_;
  output err_;
};

} // namespace actorrun::detail
