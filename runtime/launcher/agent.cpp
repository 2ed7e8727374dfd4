// The members of a launcher around the agent.
#include "actors/node_agent.hpp"
#include "runtime/diagnosis/posix_stuck_probe.hpp"
#include "runtime/diagnosis/worker_evidence.hpp"
#include "runtime/launcher/members.hpp"
#include "runtime/network/coordinator_link.hpp"
#include "runtime/network/presence.hpp"
#include "runtime/os/clock.hpp"
#include "runtime/os/own_process.hpp"
#include "runtime/os/reactor.hpp"
#include "runtime/processes/posix_process_host.hpp"
#include "runtime/store/master_port.hpp"
#include "runtime/store/ports.hpp"

namespace actorrun {

using namespace detail;

namespace {

/// Where a single node's workers meet: themselves.
constexpr auto own_address = "127.0.0.1";

/// As torchrun calls it.
const char* name_of(rendezvous_backend x) {
  switch (x) {
    case rendezvous_backend::native:
      return "c10d";
    case rendezvous_backend::fixed:
      return "static";
    case rendezvous_backend::etcd:
      break;
  }
  return "etcd-v2";
}

/// Passes the supervisor's events to a feed, if there is one.
decltype(worker_supervisor_config::on_event)
event_listener(const std::shared_ptr<event_feed>& to) {
  if (!to)
    return nullptr;
  return
    [to](const core::worker_group_event& event, const core::worker_group& group,
         core::time_point now) { to->note(event, group, now); };
}

} // namespace

// First, because a job whose output cannot be logged must not begin.
result<void> launcher::members::open_logs(const agent_options& options) {
  auto opened = node_logs::open(system, loop,
                                {.job = job.job,
                                 .options = options.logs,
                                 .role = options.workers.role,
                                 .host = host,
                                 .layout = hooks.layout,
                                 .console = hooks.console,
                                 .lines = lines});
  if (!opened)
    return opened.error();
  logs = std::move(*opened);
  return {};
}

// Before the first worker, and until after the last.
result<void> launcher::members::open_timers(const agent_options& options) {
  auto opened = node_timers::open(
    system, loop,
    {.options = options.timers, .spawn = hooks.timer_server, .lines = lines});
  if (!opened)
    return opened.error();
  timers = std::move(*opened);
  return {};
}

// Workers that cannot be bound as ordered must not begin either.
result<void> launcher::members::open_devices(const agent_options& options) {
  auto opened = node_devices::open(options, lines);
  if (!opened)
    return opened.error();
  devices.emplace(std::move(*opened));
  return {};
}

std::shared_ptr<ports::coordinator_locator>
launcher::members::make_locator(const core::offer& offering) {
  if (etcd)
    return etcd->locator_for(offering.agent);
  if (coordinator)
    return std::make_shared<local_locator>(
      caf::actor_cast<caf::strong_actor_ptr>(coordinator->actor()),
      job.rendezvous ? job.rendezvous->host : own_address);
  return keep(
    std::make_unique<coordinator_link>(
      system, *loop,
      coordinator_link::target{*job.rendezvous, mine, offering.agent.value,
                               job.timeouts.connect, occupied, guardian},
      lines),
    loop);
}

// A known address is resolved here, because a name may take long. Otherwise the
// first link announces a numeric one.
std::shared_ptr<ports::master_ports>
launcher::members::make_ports(const agent_options& options) {
  if (!options.agent_store)
    return std::make_shared<reserved_ports>(options.master_port);
  auto ports
    = keep(std::make_unique<store_ports>(
             *loop, store_place{options.master_port, !job.rendezvous}, lines),
           loop);
  if (!options.local_address.empty())
    ports->announce(options.local_address);
  else if (coordinator)
    ports->announce(job.rendezvous ? job.rendezvous->host : own_address);
  return ports;
}

void launcher::members::open_events(const agent_options& options) {
  if (!hooks.on_event)
    return;
  const auto& program = options.workers.command.front();
  events = std::make_shared<event_feed>(
    core::event_subject{.job = job.job,
                        .role = options.workers.role,
                        .host = host,
                        .backend = name_of(job.backend),
                        .entry_point = program.substr(program.rfind('/') + 1)},
    hooks.on_event);
}

result<void> launcher::members::spawn_agent(const agent_options& options) {
  open_events(options);
  auto processes
    = keep(std::make_unique<posix_process_host>(
             *loop, [lines = lines](const std::string& x) { lines.warn(x); },
             devices->gate(loop), guardian),
           loop);
  auto ports = make_ports(options);
  const auto offering = core::offer{.agent = make_agent_id(host),
                                    .host = host,
                                    .address = options.local_address,
                                    .role = options.workers.role,
                                    .slot_count = options.workers.slot_count,
                                    .master_port = ports->next(),
                                    .node_rank = options.node_rank};
  if (coordinator
      && guardian) { // A link does it for agents of other processes.
    const auto presence = open_presence(mine.fingerprint, offering.agent);
    if (!presence)
      return presence.error();
    guardian->bury(grave::presence, presence->get());
  }
  auto environment
    = core::job_environment{job.job, options.workers.role,
                            job.restart_count_max, options.signals_to_handle};
  environment.agent_store = options.agent_store;
  environment.virtual_local_rank = options.virtual_local_rank;
  environment.visible_devices = options.visible_devices;
  timers->announce(environment);
  agent = spawn_node_agent(
    system,
    {.offering = offering,
     .settings = settings(),
     .limits = job.timeouts,
     .supervisor = {.workers = options.workers,
                    .job = std::move(environment),
                    .environment = own_environment(),
                    .host = host,
                    .processes = std::move(processes),
                    .ports = std::move(ports),
                    .layout = logs->layout(),
                    .evidence = std::make_shared<worker_evidence>(),
                    .files = logs->files(),
                    .tailer = logs->tailer(),
                    .timers = timers->server(),
                    .probe = std::make_shared<posix_stuck_probe>(
                      search_path_of_this_process()),
                    .bindings = devices->bindings(),
                    .on_event = event_listener(events),
                    .lines = lines},
     .locator = make_locator(offering),
     .observers = hooks.observers,
     .devices = devices->monitor(),
     .lines = lines,
     .time_asleep = time_asleep,
     .on_finished = [this](const core::ending& x) { agent_finished(x); }});
  return {};
}

void launcher::members::open_operator_socket() {
  operators = operator_socket::open(
    system, *loop, job.job,
    coordinator ? caf::actor_cast<caf::strong_actor_ptr>(coordinator->actor())
                : caf::actor_cast<caf::strong_actor_ptr>(agent),
    coordinator ? socket_role::coordinator : socket_role::agent, lines);
}

} // namespace actorrun
