// Reports to the service manager how this node does, and that it is alive.
#pragma once

#include "actors/interfaces.hpp"
#include "actors/log.hpp"
#include "messages/result.hpp"
#include "runtime/options.hpp"
#include "runtime/os/reactor.hpp"

#include <caf/fwd.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <string>

namespace actorrun::detail {

class service_link;

/// Speaks sd_notify(3): READY=1, STATUS=, WATCHDOG=1, STOPPING=1. All functions but
/// the destructor may be called from any thread; none blocks.
///
/// A sign of life is sent by the reactor's thread, and only after the agent has
/// answered a question: a reactor that stands still sends none, and neither does
/// one whose agent is stuck.
class service_report {
public:
  /// @param home       Lives longer.
  /// @param stop_limit How long the node takes to stop, at most. The manager is
  ///                   asked to wait for that if its own time is shorter.
  /// @retval errc::bad_argument   the manager's socket has no usable address
  /// @retval errc::cannot_listen  the system has no socket left
  static result<std::unique_ptr<service_report>>
  open(caf::actor_system& system, reactor& home, const service_options& options,
       std::chrono::milliseconds stop_limit, const log& lines);

  /// Sends what waits, and nothing more. Waits for the reactor and for the
  /// observer; not on the reactor's thread.
  ~service_report();

  service_report(const service_report&) = delete;
  service_report& operator=(const service_report&) = delete;

  /// Shows the generations that it is notified of as STATUS=.
  const job_observer_actor& observer() const { return observer_; }

  /// The program does its work from now on.
  /// @param first The status until there is a generation.
  /// @param ask   Passes on a question to the actor that has to be alive.
  void ready(std::string first, std::function<void(operator_question)> ask);

  /// The program is about to end. Only the first call counts.
  /// @param why Empty: the latest status says it.
  void stopping(const std::string& why);

private:
  service_report(caf::actor_system& system, reactor& home,
                 std::shared_ptr<service_link> link);

  caf::actor_system& system_;
  std::shared_ptr<service_link> link_;
  reactor_handle running_;
  job_observer_actor observer_;
};

} // namespace actorrun::detail
