// Learns that this machine is about to go, from a file or a command that the user names.
#pragma once

#include "actors/log.hpp"
#include "messages/result.hpp"
#include "runtime/notices/file_watcher.hpp"
#include "runtime/options.hpp"
#include "runtime/os/reactor.hpp"
#include "runtime/processes/warden.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace actorrun::detail {

class node_notices {
public:
  /// Gets why, as one printable line, maybe empty; on any thread, at most once from each
  /// source.
  using listener = std::function<void(std::string words)>;

  /// Notes how things are now. Starts nothing.
  /// @returns null if nothing is to be watched
  /// @retval errc::bad_argument  the folder of the file is missing
  static result<std::unique_ptr<node_notices>>
  open(const notice_options& options, log lines);

  /// Whether `start` needs a warden.
  bool has_command() const { return !command_.empty(); }

  /// Call it once.
  /// @param environment Of the command.
  /// @param guardian May be null without a command.
  result<void> start(std::shared_ptr<reactor> loop,
                     std::vector<std::string> environment,
                     std::shared_ptr<warden> guardian, listener fn);

private:
  node_notices(const notice_options& options, log lines)
    : command_(options.command), lines_(std::move(lines)) {}

  std::string command_; ///< Empty: none.
  log lines_;
  std::unique_ptr<file_watcher> file_; ///< Null: none.
  std::shared_ptr<reactor> loop_;      ///< Outlives the next.
  reactor_handle runner_;
};

} // namespace actorrun::detail
