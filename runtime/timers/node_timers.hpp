// Owns what an agent needs to watch its workers' timers: the FIFO, the notify
// socket, and the actor.
#pragma once

#include "actors/core/workers/worker_environment.hpp"
#include "actors/log.hpp"
#include "actors/timer_interface.hpp"
#include "actors/timer_server.hpp"
#include "messages/result.hpp"
#include "runtime/options.hpp"
#include "runtime/os/reactor.hpp"
#include "runtime/timers/notify_socket.hpp"
#include "runtime/timers/timer_fifo.hpp"

#include <caf/fwd.hpp>

#include <functional>
#include <memory>
#include <string>

namespace actorrun::detail {

/// The configuration of one agent's timers.
struct node_timers_config {
  timer_options options;
  /// Null: our own timer server.
  std::function<timer_server_actor(caf::actor_system&, timer_server_config)>
    spawn{};
  timer_functions functions{};
  log lines;
};

class node_timers {
public:
  /// Makes the FIFO and, with a watchdog, the socket. A path that cannot be used
  /// is only a warning: then the workers get another one. Where there can be none,
  /// `obstacle` says why.
  /// @param system, loop Live longer.
  /// @retval errc::bad_argument   the FIFO cannot be made at the path that was
  ///         asked for; the text says why
  /// @retval errc::system_failure, errc::cannot_listen  there is to be a watchdog, and the socket
  ///         cannot be made
  static result<std::unique_ptr<node_timers>>
  open(caf::actor_system& system, std::shared_ptr<reactor> loop,
       node_timers_config config);

  /// Ends the actor; then removes the FIFO and the socket.
  /// @pre the workers have gone
  ~node_timers();

  node_timers(const node_timers&) = delete;
  node_timers& operator=(const node_timers&) = delete;

  /// Null: there are no timers.
  const timer_server_actor& server() const { return server_; }

  /// Why workers have no timers, although they are to have some; empty: they have.
  const std::string& obstacle() const { return obstacle_; }

  /// Adds the paths to the workers' environment.
  void announce(core::job_environment& to) const;

private:
  node_timers(caf::actor_system& system, node_timers_config config)
    : system_(system), config_(std::move(config)) {}

  result<void> make_fifo(reactor& loop);
  result<void> make_socket(reactor& loop);
  void spawn(std::shared_ptr<reactor> loop);

  caf::actor_system& system_;
  node_timers_config config_;
  std::unique_ptr<timer_fifo> fifo_;      ///< Until the server has it.
  std::unique_ptr<notify_socket> socket_; ///< Likewise.
  std::string fifo_path_;                 ///< Empty: there is none.
  std::string obstacle_;
  std::string socket_path_; ///< Likewise.
  timer_server_actor server_;
};

} // namespace actorrun::detail
