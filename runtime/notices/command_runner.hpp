// Runs a command beside the job that ends when this machine is about to go.
#pragma once

#include "actors/core/notices/command_watch.hpp"
#include "actors/log.hpp"
#include "runtime/os/reactor.hpp"
#include "runtime/processes/side_command.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

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

/// After a fence that has killed it, it is started again.
class command_runner final : public reactor_part {
public:
  /// @param loop Lives longer.
  command_runner(reactor& loop, command_runner_config config);
  ~command_runner() override;

  void start() override;
  void stop() override;

private:
  struct effect_runner;

  void step(const core::command_event& event);

  reactor& loop_;
  command_runner_config config_;
  side_command command_;
  core::command_watch watch_;
  reactor::timer alarm_ = 0;
  bool is_over_ = false;
};

} // namespace actorrun::detail
