// PUBLIC: takes part in a job from inside a host program.
#pragma once

#include "actors/core/generation.hpp"
#include "actors/job_observer.hpp"
#include "actors/log.hpp"
#include "actors/ports/console.hpp"
#include "actors/ports/log_layout.hpp"
#include "actors/timer_interface.hpp"
#include "messages/result.hpp"
#include "runtime/options.hpp"

#include <caf/actor_addr.hpp>
#include <caf/fwd.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace actorrun {

/// Prepares a configuration for launchers, which need our message types and no network
/// module of CAF's. Call it before the actor system is constructed; with CAF 1, before
/// the first one of the process is.
void configure(caf::actor_system_config& config);

/// How a host program follows its part of a job. All fields are optional.
struct launcher_hooks {
  log lines{}; ///< Where decisions are logged.
  /// Called once, on some thread, when the part is over. Must not block nor
  /// destroy the launcher.
  std::function<void(const core::ending&)> on_ended{};
  /// Notified of every generation from the first on. More of them: `observe`.
  std::vector<job_observer_actor> observers{};
  /// Where workers' output goes. Null: to files in torchrun's layout, as
  /// `agent_options::logs` says.
  std::shared_ptr<ports::log_layout> layout{};
  /// Where lines are shown that workers write to files. Null: this program's
  /// standard output and standard error.
  std::shared_ptr<ports::console> console{};
  /// Takes events of the agent and its workers, one line of JSON (without line
  /// end) per event, in the form of torchrun's event log. Called on several
  /// threads, one after the other; must not block.
  std::function<void(const std::string& line)> on_event{};
  /// Asked and told by the server of the workers' timers.
  timer_functions timers{};
  /// Spawns the server of the workers' timers; called once, if there are any.
  /// It gets the FIFO and the socket, which it may use in its own way. Null:
  /// `spawn_timer_server`.
  std::function<timer_server_actor(caf::actor_system&, timer_server_config)>
    timer_server{};
  /// Ports at which people and tools can look at this part of the job.
  http_options http{};
  /// The service manager that waits for this part of the job to be ready, and
  /// watches it: it gets READY=1 when `start` returns, STATUS= with each
  /// generation, WATCHDOG=1 while the agent answers, STOPPING=1 at the end.
  service_options service{};
  /// The job has just been made up, so that no coordinator of it can have been
  /// before: one of this process waits for no workers of an earlier generation.
  bool is_new_job = false;
  /// What has started this part of the job and others together: the agents of
  /// another launch of the job can be told by it (`is_earlier_launch_here`).
  /// Random; empty: it was started by itself.
  std::string launch{};
  /// The program has no child processes but those of the launcher, and such as are
  /// in its own session, and it adopts orphans: all that have ended elsewhere are
  /// reaped. Else only those that are known to come from workers.
  bool owns_children = false;
  /// MASTER_PORT of a job of this node alone, if no other program has it and
  /// `agent_options::master_port` names none; 1..65535.
  std::optional<uint16_t> preferred_master_port{};
};

/// One node's part in one job: an agent, and the coordinator if the rendezvous
/// endpoint is this host or there is none. Several may live in one process and
/// one actor system; they share nothing. What it does to the program around it:
/// docs/README.md, "Embed". Handles no signals, reads neither
/// environment variables nor files but those of the run-time folder and of the
/// workers' output (`$TMPDIR`), and writes nowhere but there, to `lines` and to
/// the console.
class launcher {
public:
  /// Starts and returns; the job goes on in the background. May resolve the
  /// endpoint's host name meanwhile.
  /// @param system Lives longer than the launcher; see `configure`.
  /// @retval errc::bad_argument    as `validate`; `configure` was forgotten; an
  ///                               observer or the timer server that
  ///                               `hooks.timer_server` has made is null
  /// @retval errc::address_in_use  the endpoint must be hosted here and is taken
  /// @retval errc::cannot_listen   the endpoint cannot be bound
  /// @retval errc::unresolvable    the endpoint must be hosted here and has no
  ///                               address
  /// @retval errc::log_failed      a log folder that was asked for cannot be
  ///                               made; the text names it
  ///
  /// The first two and `cannot_listen` are also those of a port of `hooks.http`.
  /// `bad_argument` is also a socket of `hooks.service` that has no usable address,
  /// `cannot_listen` a socket for watchdogs.
  static result<std::unique_ptr<launcher>> start(caf::actor_system& system,
                                                 const job_options& job,
                                                 const agent_options& agent,
                                                 launcher_hooks hooks = {});

  /// Hosts the coordinator alone, at `job.rendezvous`, without an agent. With
  /// `job.succession` it is a witness: it votes on who hosts the coordinator, and may be
  /// elected itself.
  /// @param local_address Where others reach a witness; empty: its address on the way to
  ///        `job.rendezvous`.
  /// @pre `job.rendezvous` is set
  static result<std::unique_ptr<launcher>>
  start_coordinator(caf::actor_system& system, const job_options& job,
                    launcher_hooks hooks = {}, std::string local_address = {});

  /// Kills what still runs and cuts all links. For an orderly end call `leave`
  /// and `wait` first.
  ~launcher();

  /// Notifies this observer, too, from now on, and of the present generation at once.
  /// @pre it is not null, and `start` has made the launcher
  void observe(job_observer_actor who);

  /// This node's agent, for monitors; null in a coordinator's process without one.
  caf::actor_addr agent() const;

  /// The coordinator, if it is hosted here; else null.
  caf::actor_addr coordinator() const;

  /// The timer server, which the host program may use as well; null if there is
  /// none.
  timer_server_actor timers() const;

  /// Stops this node's workers with `signal` and leaves the job, which goes on
  /// without us; the host of the coordinator ends the job. A second call kills.
  /// Does nothing to a coordinator on its own: see `end_with_process`.
  ///
  /// When the part only waits for the console, the first call does nothing and
  /// a later one ends the part: lines that are not shown are still in the
  /// workers' files.
  void leave(int signal);

  /// Prepares the end of this process, which has to follow, for a coordinator on
  /// its own: its journal is written. Then the machine says at the endpoint that it
  /// has ended, so agents keep their workers and wait for another one there. If it
  /// is destroyed instead, and the process lives on, nothing proves that it has
  /// ended, and they kill their workers when the fence is due.
  /// @pre the job does not use etcd; `start_coordinator` has made it
  void end_with_process();

  /// Sends `signal` to the workers of this node as a notification: they go on.
  void notify(int signal);

  /// Says that a time limit will end the job, this long from now. If the workers
  /// have safe points, all of the job save at one and go on; else those of this
  /// node get the notice signal.
  void announce_limit(std::chrono::seconds left);

  /// True when all is over except that the console has not taken the workers'
  /// last lines.
  bool awaits_console() const;

  /// Blocks until the part is over: how the job ended, or why we left it. By
  /// then the console has all that the workers of this node wrote.
  core::ending wait();

  /// What the workers of this node are bound to, in lines for people; empty if
  /// there are none.
  std::vector<std::string> binding_report() const;

  /// Where the files of this node's workers are; empty if there are none.
  std::string log_folder() const;

private:
  struct members;
  explicit launcher(std::unique_ptr<members> x);

  std::unique_ptr<members> members_;
};

} // namespace actorrun
