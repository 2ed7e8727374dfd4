// Hosts this node's agent: opens what its workers need, spawns it, ends both.
#pragma once

#include "actors/node_agent.hpp"
#include "actors/ports/master_ports.hpp"
#include "actors/ports/worker_control.hpp"
#include "runtime/devices/node_devices.hpp"
#include "runtime/diagnosis/event_feed.hpp"
#include "runtime/diagnosis/step_pages.hpp"
#include "runtime/launcher.hpp"
#include "runtime/launcher/node_coordinator.hpp"
#include "runtime/launcher/node_end_runner.hpp"
#include "runtime/logs/node_logs.hpp"
#include "runtime/network/actor_watch.hpp"
#include "runtime/notices/node_notices.hpp"
#include "runtime/processes/warden.hpp"
#include "runtime/timers/node_timers.hpp"

#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>

namespace actorrun::detail {

struct hosted_agent_config {
  job_options job;
  agent_options options;
  launcher_hooks hooks;
  std::string host;
  agent_id id;
  std::shared_ptr<warden> guardian; ///< Null: the job has one node only.
  /// Takes what this node's part in the job is without, and goes on.
  std::function<void(std::string what, std::string why)> on_lack;
};

class hosted_agent {
public:
  /// Opens what is to be there before the first worker, and until after the last.
  /// @param system, end Live longer; `end` learns how the agent ends.
  /// @retval as `launcher::start`
  static result<std::unique_ptr<hosted_agent>>
  open(caf::actor_system& system, std::shared_ptr<reactor> loop,
       hosted_agent_config config, node_end_runner& end);

  ~hosted_agent() { end(); }

  /// Call it once.
  /// @param coordinator Is open, and lives until `end`.
  /// @retval as `launcher::start`
  result<void> spawn(node_coordinator& coordinator);

  /// Kills the agent and waits until its workers' processes are gone. Logs and
  /// timers stay open. Does nothing when called again.
  void end();

  /// Null before it is spawned, and after its end.
  const node_agent_actor& actor() const { return actor_; }

  node_logs& logs() const { return *logs_; }
  const node_timers& timers() const { return *timers_; }
  const node_devices& devices() const { return *devices_; }

private:
  hosted_agent(caf::actor_system& system, std::shared_ptr<reactor> loop,
               hosted_agent_config config, node_end_runner& end)
    : system_(system), loop_(std::move(loop)), config_(std::move(config)),
      end_(end) {}

  void open_events();
  void open_steps();
  std::shared_ptr<ports::worker_control> open_control() const;
  std::shared_ptr<ports::process_host> make_process_host();
  result<std::shared_ptr<ports::master_ports>>
  make_ports(const node_coordinator& coordinator) const;
  worker_supervisor_config
  supervisors_config(std::shared_ptr<ports::process_host> processes,
                     std::shared_ptr<ports::master_ports> ports) const;
  void ensure_guardian();
  node_checker_config checks() const;
  result<void> watch_for_notices();
  void finish(core::ending how, bool has_coordinator);

  caf::actor_system& system_;
  std::shared_ptr<reactor> loop_;
  hosted_agent_config config_;
  node_end_runner& end_;
  std::shared_ptr<event_feed> events_; ///< Null: no event log.
  std::optional<node_devices> devices_;
  std::unique_ptr<node_logs> logs_;
  std::unique_ptr<node_timers> timers_;
  std::shared_ptr<step_pages> steps_;     ///< Null: no worker is watched.
  std::unique_ptr<node_notices> notices_; ///< Null: nothing says that it goes.
  node_agent_actor actor_;
  actor_watch watch_;
  /// Set when the processes of its workers are gone. An agent that is killed cannot
  /// wait for the supervisor, which has them, too.
  std::future<void> workers_gone_;
};

} // namespace actorrun::detail
