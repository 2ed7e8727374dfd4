// Runs a command beside the job that ends when this machine is about to go.
#pragma once

#include "actors/core/notices/command_watch.hpp"
#include "actors/log.hpp"
#include "runtime/os/reactor.hpp"
#include "runtime/os/unique_fd.hpp"
#include "runtime/processes/warden.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace actorrun::detail {

struct command_runner_config {
  std::string command;                  ///< For `/bin/sh -c`.
  std::vector<std::string> environment; ///< `NAME=value`, the whole of it.
  std::shared_ptr<warden> guardian;     ///< Kills it if this program cannot.
  /// Gets the last line of what the command has written, once, on the reactor's
  /// thread; one printable line, maybe empty.
  std::function<void(std::string words)> notify;
  log lines;
};

/// The command has a process group of its own, with nothing to read, and is killed with
/// all of that group when the runner stops, when this program ends in whatever way, and
/// when it has ended itself. A fence that passes kills it, too; then it is started
/// again. Only the last line of each output is kept.
class command_runner final : public reactor_part {
public:
  /// @param loop Lives longer.
  command_runner(reactor& loop, command_runner_config config);
  ~command_runner() override;

  void start() override;
  void stop() override;

private:
  struct effect_runner;

  /// What it writes, as far as it may be its last line.
  struct output {
    unique_fd fd{};
    std::string end{};
    bool is_cut = false; ///< `end` begins within a line.

    std::string last_line() const;
  };

  void step(const core::command_event& event);
  std::string start_process();
  void open_output(output& to, unique_fd fd);
  void read_some(output& from);
  void on_end();
  void kill_group();
  void forget_process();

  reactor& loop_;
  command_runner_config config_;
  core::command_watch watch_;
  warden::registration guarded_;
  pid_t pid_ = 0; ///< 0: it does not run.
  unique_fd pidfd_;
  output out_;
  output err_;
  reactor::timer alarm_ = 0;
  bool is_over_ = false;
};

} // namespace actorrun::detail
