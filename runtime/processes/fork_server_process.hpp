// Owns one fork server on the agent's side: the process and the socket to it.
#pragma once

#include "runtime/os/reactor.hpp"
#include "runtime/os/unique_fd.hpp"
#include "runtime/processes/child_setup.hpp"
#include "runtime/processes/fork_request.hpp"
#include "runtime/processes/spawn.hpp"

#include <functional>
#include <string>
#include <vector>

namespace actorrun::detail {

/// Lives on the reactor's thread. Its destructor ends the server; its workers
/// are children of this process and stay.
class fork_server_process {
public:
  /// Starts the server without waiting for it: requests stay in the socket
  /// until it reads them. See `error`.
  /// @param path What to execute.
  /// @param name Its argv[0], and its only argument.
  /// @param environment Of the server; the variable of `fork_server.hpp` is
  ///                    added.
  /// @param on_end Called once when the server has ended by itself.
  fork_server_process(reactor& loop, spawner& starter, const std::string& path,
                      const std::string& name,
                      std::vector<std::string> environment,
                      std::function<void()> on_end);

  /// Kills the server and waits for its end.
  ~fork_server_process();

  fork_server_process(const fork_server_process&) = delete;
  fork_server_process& operator=(const fork_server_process&) = delete;

  /// errno of the step that failed, 0 if it was started.
  int error() const { return error_; }

  bool runs() const { return static_cast<bool>(process_.pidfd); }

  /// @returns 0 or an errno: ECONNRESET if the server is gone; see
  ///          `send_fork_request`
  int order(const fork_text& text, const child_files& files,
            int handshake) const;

  /// Kills a server that does not answer; `on_end` is called as usual.
  void kill() const;

private:
  void forget();

  reactor& loop_;
  spawned process_;
  unique_fd socket_;
  int error_ = 0;
};

} // namespace actorrun::detail
