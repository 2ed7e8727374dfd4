// Owns the members of a launcher: one node's part in one job.
#pragma once

#include "actors/core/protocol/coordinator_loss.hpp"
#include "actors/core/protocol/node_end.hpp"
#include "actors/ports/master_ports.hpp"
#include "actors/ports/worker_control.hpp"
#include "runtime/devices/node_devices.hpp"
#include "runtime/diagnosis/event_feed.hpp"
#include "runtime/etcd/host.hpp"
#include "runtime/http/ports.hpp"
#include "runtime/journal/journal_file.hpp"
#include "runtime/journal/journal_writer.hpp"
#include "runtime/launcher.hpp"
#include "runtime/launcher/loop_scheduler.hpp"
#include "runtime/launcher/service_report.hpp"
#include "runtime/logs/node_logs.hpp"
#include "runtime/network/actor_watch.hpp"
#include "runtime/network/connector.hpp"
#include "runtime/network/hosted_coordinator.hpp"
#include "runtime/network/listener.hpp"
#include "runtime/network/liveness.hpp"
#include "runtime/network/operator_socket.hpp"
#include "runtime/os/own_process.hpp"
#include "runtime/os/socket_address.hpp"
#include "runtime/os/unique_fd.hpp"
#include "runtime/processes/warden.hpp"
#include "runtime/store/entrance.hpp"
#include "runtime/succession/host.hpp"
#include "runtime/timers/node_timers.hpp"

#include <chrono>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
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
      end(has_agent_) {
    job.timeouts = core::fitted(job.timeouts, job.agent_count_max);
  }

  result<void> load_credentials();
  result<void> open_logs(const agent_options& options);
  result<void> open_timers(const agent_options& options);
  std::shared_ptr<ports::worker_control> open_control();
  result<void> open_devices(const agent_options& options);
  result<void> host_coordinator();
  void learn_of_predecessor(core::coordinator_started& beginning) const;
  result<void> maybe_host_coordinator(const agent_options& options);
  result<void> host_as_first();
  core::job_settings settings() const;
  rendezvous_coordinator_config coordinator_config();
  std::function<void(core::journal::chronicle::records)>
  journal_for(const rendezvous_coordinator_config& x);
  void start_guardian();
  result<void> open_etcd(const std::string& announced, bool alone);
  result<void> open_voters(const agent_options& options);
  void pass_store_clients(detail::hosted_coordinator& from);
  result<void> spawn_agent(const agent_options& options);
  std::shared_ptr<ports::coordinator_locator>
  make_locator(const core::offer& offering);
  result<std::shared_ptr<ports::master_ports>>
  make_ports(const agent_options& options);
  std::string coordinator_place() const;
  core::coordinator_source next_coordinator() const;
  void leave_leadership(const std::string& why);
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
  /// Null: it is elsewhere.
  rendezvous_coordinator_actor own_coordinator() const;
  void agent_finished(core::ending how);
  void actor_died(core::actor_died::role which, const std::string& reason);
  void handle(const core::node_end_event& event);
  void perform(const core::show_logs&);
  void perform(const core::resign_leadership&);
  void perform(const core::pass_on_signal& x);
  /// Has a coordinator that is hosted here end the job. Told again, it does nothing.
  void end_job(int signal);
  void perform(const core::report_failure& x) { lines.error(x.text); }
  void perform(const core::report_wait& x);
  void perform(const core::end_node& x);
  void perform(const core::arm_timer& x);

  /// Of the newest coordinator here; null: none is kept. The last to go, because
  /// its last record says that nothing is left to do.
  std::shared_ptr<detail::journal_writer> journal;
  caf::actor_system& system;
  job_options job;
  launcher_hooks hooks;
  log lines;
  detail::credentials mine; ///< From `load_credentials`.
  std::string host;
  agent_id own_id;       ///< Of the agent.
  bool has_agent;        ///< Else there is a coordinator only.
  bool occupied = false; ///< Another process listens at our endpoint.
  /// At which address the nodes find the coordinator that is hosted here.
  std::string hosted_at;
  std::shared_ptr<detail::reactor> loop
    = detail::loop_scheduler::reactor_for(system);
  std::shared_ptr<detail::warden>
    guardian; ///< Null: the job has one node only.
  /// Null: another node hosts it, or `elected` does.
  std::unique_ptr<detail::hosted_coordinator> coordinator;
  /// From its port to the store here. Null: it has none.
  std::shared_ptr<detail::store_entrance> entrance;
  /// Has the coordinator while this node is elected. Null: none is elected.
  std::unique_ptr<detail::elected_coordinator> elected;
  detail::unique_fd presence; ///< Of a node alone that a launch has started.
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

  detail::reactor_handle alarm; ///< The timer of `end`, which arms it once.
  std::mutex mutex;             // Guards the next.
  core::node_end end;
  std::deque<core::node_end_event> end_events; ///< For `end`.
  bool is_ending = false; ///< A thread steps `end`, and performs its orders.
  std::promise<core::ending> promise;
  std::shared_future<core::ending> future = promise.get_future().share();
};

} // namespace actorrun
