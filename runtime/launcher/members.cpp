#include "runtime/launcher/members.hpp"

#include "actors/node_agent.hpp"
#include "messages/formatted.hpp"
#include "runtime/control/worker_control_socket.hpp"
#include "runtime/diagnosis/posix_stuck_probe.hpp"
#include "runtime/diagnosis/proc_vitals.hpp"
#include "runtime/diagnosis/worker_evidence.hpp"
#include "runtime/os/clock.hpp"
#include "runtime/os/own_process.hpp"
#include "runtime/os/reactor.hpp"
#include "runtime/processes/posix_process_host.hpp"
#include "runtime/store/master_port.hpp"
#include "runtime/store/ports.hpp"

#include <chrono>
#include <utility>

namespace actorrun {

using namespace detail;

namespace {

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

/// The manager has to wait longer than the grace period: for a second until the
/// cgroup is empty, and for the console.
constexpr auto stop_margin = std::chrono::seconds{10};

/// Ours without what is no business of the program: who has the job's secret may
/// act for its nodes, and our service manager waits for us, not for workers.
std::vector<std::string> environment_of_workers() {
  auto out = own_environment();
  std::erase_if(out, [](const auto& x) {
    return x.starts_with("ACTORRUN_SECRET=") || x.starts_with("NOTIFY_SOCKET=")
           || x.starts_with("WATCHDOG_USEC=") || x.starts_with("WATCHDOG_PID=");
  });
  return out;
}

/// What a program answers that only waits for etcd to elect it.
v1::OperatorReply standby_reply(const job_id& job) {
  auto out = v1::OperatorReply{};
  auto& status = *out.mutable_status();
  status.set_job_id(job.value);
  status.set_phase("standby");
  status.set_waiting_for("the coordinator is elsewhere");
  return out;
}

} // namespace

// -- the coordinator ----------------------------------------------------------

// Other nodes must learn when this process has ended.
void launcher::members::start_guardian() {
  guardian = start_warden(loop, [lines = lines] { lines.warn(warden_lost); });
  guardian->set_linger(job.timeouts.lease(), job.timeouts.seek);
}

result<void> launcher::members::open_coordinator(credentials mine,
                                                 const agent_options* options) {
  coordinator = std::make_unique<node_coordinator>(
    system, loop,
    node_coordinator_config{job, std::move(mine), host,
                            has_agent ? std::optional{own_id} : std::nullopt,
                            hooks.launch, hooks.is_new_job, guardian, lines},
    journal, end);
  return coordinator->open(options);
}

// -- the agent ----------------------------------------------------------------

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
  if (const auto& why = timers->obstacle(); !why.empty())
    lacks.push_back({"workers have no timers", why});
  return {};
}

// Without it they end at each change, as those do that know nothing of it.
std::shared_ptr<ports::worker_control> launcher::members::open_control() {
  auto opened = worker_control_socket::open(*loop);
  if (opened)
    return keep<ports::worker_control>(std::move(*opened), loop);
  lacks.push_back({"no worker can live through a change", opened.error().text});
  return nullptr;
}

// Workers that cannot be bound as ordered must not begin either.
result<void> launcher::members::open_devices(const agent_options& options) {
  auto opened = node_devices::open(options, lines);
  if (!opened)
    return opened.error();
  devices.emplace(std::move(*opened));
  return {};
}

// A known address is resolved here, because a name may take long. Otherwise the
// first link announces a numeric one.
result<std::shared_ptr<ports::master_ports>>
launcher::members::make_ports(const agent_options& options) {
  using made = std::shared_ptr<ports::master_ports>;
  if (!options.agent_store) {
    auto ports = std::make_shared<reserved_ports>(options.master_port);
    if (hooks.preferred_master_port && !options.master_port)
      ports->prefer(*hooks.preferred_master_port);
    ports->share(coordinator->entrance());
    if (auto held = ports->hold(); !held)
      return held.error();
    return made{std::move(ports)};
  }
  auto ports
    = keep(std::make_unique<store_ports>(
             *loop, store_place{options.master_port, !job.rendezvous}, lines),
           loop);
  if (hooks.preferred_master_port && !options.master_port)
    ports->prefer(*hooks.preferred_master_port);
  ports->share(coordinator->entrance());
  // Torch compares the address that a script was given with these, as text.
  // Where workers are told another address, the coordinator may not be there.
  const auto is_same_place = options.local_address.empty()
                             || options.local_address == job.rendezvous->host;
  if (coordinator->entrance() && job.backend == rendezvous_backend::fixed
      && is_same_place)
    ports->show(job.rendezvous->port);
  if (!options.local_address.empty())
    ports->announce(options.local_address);
  else if (coordinator->is_hosted())
    ports->announce(coordinator->address());
  // A node alone could never get another one.
  if (!job.rendezvous)
    if (auto held = ports->hold(); !held)
      return held.error();
  return made{std::move(ports)};
}

void launcher::members::open_events(const agent_options& options) {
  if (!hooks.on_event)
    return;
  const auto& program = options.workers.command.front();
  auto name = options.entry_name.empty()
                ? program.substr(program.rfind('/') + 1)
                : options.entry_name;
  events = std::make_shared<event_feed>(
    core::event_subject{.job = job.job,
                        .role = options.workers.role,
                        .host = host,
                        .backend = name_of(job.backend),
                        .entry_point = std::move(name)},
    hooks.on_event);
}

result<void> launcher::members::spawn_agent(const agent_options& options) {
  open_events(options);
  auto host_of_workers = std::make_unique<posix_process_host>(
    *loop, [lines = lines](const std::string& x) { lines.warn(x); },
    devices->gate(loop), guardian);
  host_of_workers->set_detail_handler(
    [lines = lines](const std::string& x) { lines.debug(x); });
  if (hooks.owns_children)
    host_of_workers->own_children();
  auto processes = std::shared_ptr<ports::process_host>{
    host_of_workers.release(),
    [loop = loop, gone = workers_gone](ports::process_host* x) {
      delete x;
      gone->set_value();
    }};
  auto made_ports = make_ports(options);
  if (!made_ports)
    return made_ports.error();
  auto ports = std::move(*made_ports);
  const auto offering = core::offer{.agent = own_id,
                                    .host = host,
                                    .address = options.local_address,
                                    .role = options.workers.role,
                                    .slot_count = options.workers.slot_count,
                                    .master_port = ports->next(),
                                    .node_rank = options.node_rank};
  if (auto shown = coordinator->show_agent(); !shown)
    return shown.error();
  auto environment
    = core::job_environment{job.job, options.workers.role,
                            job.restart_count_max, options.signals_to_handle};
  environment.agent_store = options.agent_store;
  environment.virtual_local_rank = options.virtual_local_rank;
  environment.visible_devices = options.visible_devices;
  timers->announce(environment);
  auto control = open_control();
  if (control)
    environment.control_socket = control->address();
  const auto vitals = std::make_shared<proc_vitals>();
  const auto evidence = std::make_shared<worker_evidence>(logs->full_disks());
  agent = spawn_node_agent(
    system,
    {.offering = offering,
     .settings = coordinator->settings(),
     .limits = job.timeouts,
     .supervisor = {.workers = options.workers,
                    .job = std::move(environment),
                    .environment = environment_of_workers(),
                    .host = host,
                    .processes = std::move(processes),
                    .ports = std::move(ports),
                    .layout = logs->layout(),
                    .evidence = evidence,
                    .files = logs->files(),
                    .tailer = logs->tailer(),
                    .timers = timers->server(),
                    .probe = std::make_shared<posix_stuck_probe>(
                      search_path_of_this_process()),
                    .control = std::move(control),
                    .vitals = vitals,
                    .reader = logs->reader(),
                    .bindings = devices->bindings(),
                    .on_event = event_listener(events),
                    .lines = lines},
     .locator = coordinator->locator(options.local_address),
     .coordinator_place = coordinator->options_for_operators(),
     .observers = hooks.observers,
     .devices = devices->monitor(),
     .vitals = vitals,
     .lines = lines,
     .time_asleep = time_asleep,
     .on_leaving = [this](const auto& x) { coordinator->end_job(x.signal); },
     .on_finished = [this](const core::ending& x) { agent_finished(x); }});
  return {};
}

void launcher::members::open_operator_socket() {
  const auto is_hosted = coordinator->is_hosted();
  auto opened = operator_socket::open(
    *loop, job.job,
    is_hosted ? questions_to(coordinator->actor()) : questions_to(agent),
    is_hosted ? socket_role::coordinator : socket_role::agent);
  if (opened)
    operators = std::move(*opened);
  else
    lacks.push_back({"actorctl cannot reach this job", opened.error().text});
}

// Mostly they have one cause, the run-time folder: that is one line.
void launcher::members::warn_of_lacks() {
  while (!lacks.empty()) {
    const auto why = lacks.front().why;
    auto what = std::string{};
    for (const auto& x : lacks)
      if (x.why == why)
        what += (what.empty() ? "" : ", ") + x.what;
    std::erase_if(lacks, [&](const lack& x) { return x.why == why; });
    lines.warn(what + ": " + why);
  }
}

// Before anything runs: a port that is taken ends the start.
result<void> launcher::members::open_http() {
  if (!hooks.http.is_any_set())
    return {};
  auto opened = http_ports::open(hooks.http, lines);
  if (!opened)
    return opened.error();
  http.emplace(std::move(*opened));
  return {};
}

void launcher::members::serve_http() {
  if (!http)
    return;
  auto setup = view_setup{};
  setup.job_id = job.job.value;
  setup.host = host;
  setup.has_coordinator = [this] { return coordinator->actor() != nullptr; };
  setup.ask_job = [this](operator_question x) { ask_about_job(std::move(x)); };
  if (agent)
    setup.ask_node = questions_to(agent);
  http->serve(std::move(setup));
}

void launcher::members::ask_about_job(operator_question x) {
  if (const auto whom = coordinator->actor())
    tell_anonymously(whom, std::move(x));
  else if (agent)
    tell_anonymously(agent, std::move(x));
  else
    x.reply(standby_reply(job.job));
}

// -- the service manager ------------------------------------------------------

// Before the agent, which gets its observer.
result<void> launcher::members::open_service(std::chrono::milliseconds grace) {
  if (hooks.service.socket.empty())
    return {};
  auto opened = service_report::open(system, *loop, hooks.service,
                                     grace + stop_margin, lines);
  if (!opened)
    return opened.error();
  service = std::move(*opened);
  hooks.observers.push_back(service->observer());
  return {};
}

void launcher::members::report_ready() {
  if (!service)
    return;
  if (agent)
    service->ready("waits for a generation", questions_to(agent));
  else
    service->ready("coordinates " + job.job.value, [this](operator_question x) {
      ask_about_job(std::move(x));
    });
}

void launcher::members::report_stopping(const std::string& why) {
  if (service)
    service->stopping(why);
}

// -- the end ------------------------------------------------------------------

void launcher::members::agent_finished(core::ending how) {
  if (how.why && how.why->code == errc::connection_timed_out && job.rendezvous
      && job.backend != rendezvous_backend::etcd) {
    const auto where = to_string(*job.rendezvous);
    if (how.why->text.find(where) == std::string::npos)
      how.why->text += formatted("; it was looked for at {}", where);
  }
  if (events)
    events->note(how);
  const auto hosts = coordinator->actor() != nullptr;
  // A coordinator of one node alone would wait for an agent that cannot come; but
  // of workers that were given up it knows why the job has failed.
  const auto waits
    = job.rendezvous || !how.why || how.why->code == errc::worker_unkillable;
  handle(core::agent_finished{how, hosts && waits});
}

void launcher::members::actor_died(core::actor_died::role which,
                                   const std::string& reason) {
  handle(core::actor_died{which, reason});
}

node_end_orders launcher::members::orders_at_end() {
  return {.show_logs = [this](auto done) { logs->flush(std::move(done)); },
          .resign_leadership = [this] { coordinator->resign(); },
          .pass_on_signal = [this](int signal) { pass_on_signal(signal); },
          .on_ending =
            [this](const core::ending& how) {
              report_stopping(how.why ? how.why->text : std::string{});
            },
          .on_ended = hooks.on_ended};
}

// In this order: its workers get the signal from the agent, and not from the end
// of the job. An agent that has left already says nothing to the coordinator.
void launcher::members::pass_on_signal(int signal) {
  if (agent) {
    tell_anonymously(agent, core::leave_requested{signal});
    coordinator->end_job(signal);
  }
}

} // namespace actorrun
