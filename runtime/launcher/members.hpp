// Owns the members of a launcher: one node's part in one job.
#pragma once

#include "actors/ports/master_ports.hpp"
#include "actors/ports/worker_control.hpp"
#include "runtime/devices/node_devices.hpp"
#include "runtime/diagnosis/event_feed.hpp"
#include "runtime/http/ports.hpp"
#include "runtime/journal/journal_writer.hpp"
#include "runtime/launcher.hpp"
#include "runtime/launcher/loop_scheduler.hpp"
#include "runtime/launcher/node_coordinator.hpp"
#include "runtime/launcher/node_end_runner.hpp"
#include "runtime/launcher/service_report.hpp"
#include "runtime/logs/node_logs.hpp"
#include "runtime/network/actor_watch.hpp"
#include "runtime/network/operator_socket.hpp"
#include "runtime/os/own_process.hpp"
#include "runtime/os/socket_address.hpp"
#include "runtime/processes/warden.hpp"
#include "runtime/timers/node_timers.hpp"

#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace actorrun {

struct launcher::members {
  members(caf::actor_system& sys, job_options job_, launcher_hooks hooks_,
          bool has_agent_)
    : system(sys), job(std::move(job_)), hooks(std::move(hooks_)),
      lines(hooks.lines), host(detail::local_host_name()),
      own_id(detail::make_agent_id(host)), has_agent(has_agent_),
      end(*loop, has_agent_, orders_at_end(), lines) {
    job.timeouts = core::fitted(job.timeouts, job.agent_count_max);
  }

  result<void> open_logs(const agent_options& options);
  result<void> open_timers(const agent_options& options);
  std::shared_ptr<ports::worker_control> open_control();
  result<void> open_devices(const agent_options& options);
  void start_guardian();
  /// @param options Null: there is no agent.
  result<void> open_coordinator(detail::credentials mine,
                                const agent_options* options);
  result<void> spawn_agent(const agent_options& options);
  result<std::shared_ptr<ports::master_ports>>
  make_ports(const agent_options& options);
  void open_events(const agent_options& options);
  void open_operator_socket();
  /// Once all is open.
  void warn_of_lacks();
  result<void> open_http();
  void serve_http();
  result<void> open_service(std::chrono::milliseconds grace);
  void report_ready();
  void report_stopping(const std::string& why);
  /// Passes on a question about the job to the actor that knows most.
  void ask_about_job(operator_question x);
  void agent_finished(core::ending how);
  void actor_died(core::actor_died::role which, const std::string& reason);
  void handle(const core::node_end_event& event) { end.handle(event); }
  detail::node_end_orders orders_at_end();
  void pass_on_signal(int signal);

  /// Of the newest coordinator here; null: none is kept. The last to go, because
  /// its last record says that nothing is left to do.
  std::shared_ptr<detail::journal_writer> journal;
  caf::actor_system& system;
  job_options job;
  launcher_hooks hooks;
  log lines;
  std::string host;
  agent_id own_id; ///< Of the agent.
  bool has_agent;  ///< Else there is a coordinator only.
  std::shared_ptr<detail::reactor> loop
    = detail::loop_scheduler::reactor_for(system);
  std::shared_ptr<detail::warden>
    guardian; ///< Null: the job has one node only.
  detail::node_end_runner end;
  std::unique_ptr<detail::node_coordinator> coordinator;
  node_agent_actor agent;
  detail::actor_watch agent_watch;
  /// When the processes of its workers are gone. An agent that is killed cannot wait
  /// for the supervisor, which has them, too.
  std::shared_ptr<std::promise<void>> workers_gone
    = std::make_shared<std::promise<void>>();
  std::optional<detail::operator_socket> operators;
  /// What this node's part in the job is without, and goes on.
  struct lack {
    std::string what;
    std::string why;
  };
  std::vector<lack> lacks;                ///< For `warn_of_lacks`.
  std::optional<detail::http_ports> http; ///< None: no port was asked for.
  std::unique_ptr<detail::service_report> service; ///< Null: no manager waits.
  std::unique_ptr<detail::node_logs> logs;         ///< Null: there is no agent.
  std::unique_ptr<detail::node_timers> timers;     ///< Likewise.
  std::optional<detail::node_devices> devices;     ///< Likewise.
  std::shared_ptr<detail::event_feed> events;      ///< Null: no event log.
};

} // namespace actorrun
