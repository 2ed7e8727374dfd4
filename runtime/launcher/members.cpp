#include "runtime/launcher/members.hpp"

#include "actors/node_agent.hpp"
#include "messages/formatted.hpp"
#include "runtime/control/worker_control_socket.hpp"
#include "runtime/diagnosis/posix_stuck_probe.hpp"
#include "runtime/diagnosis/proc_vitals.hpp"
#include "runtime/diagnosis/worker_evidence.hpp"
#include "runtime/journal/predecessor.hpp"
#include "runtime/launcher/hosting.hpp"
#include "runtime/network/coordinator_link.hpp"
#include "runtime/network/job_credentials.hpp"
#include "runtime/network/presence.hpp"
#include "runtime/os/clock.hpp"
#include "runtime/os/own_process.hpp"
#include "runtime/os/reactor.hpp"
#include "runtime/processes/posix_process_host.hpp"
#include "runtime/store/master_port.hpp"
#include "runtime/store/ports.hpp"

#include <chrono>
#include <utility>
#include <variant>

#include <unistd.h>

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

/// Calls once, some time after its start.
class one_timer final : public reactor_part {
public:
  one_timer(reactor& home, core::duration delay, reactor::task fn)
    : home_(home), delay_(delay), fn_(std::move(fn)) {}

  void start() override { id_ = home_.after(delay_, std::move(fn_)); }
  void stop() override { home_.cancel(std::exchange(id_, 0)); }

private:
  reactor& home_;
  core::duration delay_;
  reactor::task fn_;
  reactor::timer id_ = 0;
};

} // namespace

// -- the coordinator ----------------------------------------------------------

result<void>
launcher::members::maybe_host_coordinator(const agent_options& options) {
  if (!job.rendezvous) {
    coordinator = std::make_unique<hosted_coordinator>(system, loop,
                                                       coordinator_config());
    coordinator->begin();
    return {};
  }
  if (job.backend == rendezvous_backend::etcd)
    return open_etcd(options.local_address, false);
  if (job.succession)
    return open_voters(options);
  if (!may_host_coordinator(job, options))
    return {};
  if (job.backend == rendezvous_backend::fixed)
    return host_as_first();
  auto hosted = host_coordinator();
  if (!hosted && hosted.error().code == errc::address_in_use
      && job.place == coordinator_place::automatic) {
    // Most likely another agent of the job on this host; connecting will show
    // it.
    occupied = true;
    return {};
  }
  return hosted;
}

result<void> launcher::members::load_credentials() {
  auto loaded = detail::load_credentials(job);
  if (!loaded)
    return loaded.error();
  mine = std::move(*loaded);
  return {};
}

result<void> launcher::members::host_coordinator() {
  if (mine.identity && !mine.identity->names(job.rendezvous->host))
    return mine.identity->does_not_name(job.rendezvous->host,
                                        "where the nodes meet");
  const auto place = place_of_coordinator(job);
  if (!place)
    return place.error();
  auto config = coordinator_config();
  learn_of_predecessor(config.beginning);
  coordinator = std::make_unique<hosted_coordinator>(
    system, loop, std::move(config), guardian);
  if (has_agent)
    pass_store_clients(*coordinator);
  auto listening = coordinator->listen(job, place->where, mine,
                                       hooks.is_new_job ? std::optional{false}
                                                        : std::nullopt);
  if (!listening) {
    coordinator.reset();
    return listening.error();
  }
  hosted_at = place->announced;
  if (place->is_whole_host)
    lines.info(formatted(
      "{} stands for all addresses of this host; others reach it at {}",
      job.rendezvous->host,
      to_string(endpoint{place->announced, job.rendezvous->port})));
  return {};
}

void launcher::members::pass_store_clients(hosted_coordinator& from) {
  entrance = std::make_shared<store_entrance>(*loop, lines);
  from.pass_store_clients(
    [to = entrance](unique_fd client, const std::string& address) {
      to->admit(std::move(client), address);
    });
}

// What it has granted, and an operator's order, outlive the coordinator.
void launcher::members::learn_of_predecessor(
  core::coordinator_started& beginning) const {
  if (job.journal_folder.empty())
    return;
  auto found = find_predecessor(job.journal_folder, job.job, host,
                                job.timeouts.close + job.timeouts.seek_again());
  if (!found)
    return lines.warn(found.error().text);
  if (!*found)
    return;
  beginning.known = std::move((*found)->job);
  // An agent here is of the next job with this name.
  if (!has_agent)
    beginning.decided = std::move((*found)->decided);
}

// Other nodes must learn when this process has ended.
void launcher::members::start_guardian() {
  guardian = start_warden(loop, [lines = lines] { lines.warn(warden_lost); });
  guardian->set_linger(job.timeouts.lease(), job.timeouts.seek_again());
}

rendezvous_coordinator_config launcher::members::coordinator_config() {
  auto out = rendezvous_coordinator_config{};
  out.job = job.job;
  out.settings = settings();
  out.limits = job.timeouts;
  out.host = host;
  out.pid = ::getpid();
  out.exclude_after = job.exclude_after;
  // With an agent, one node is as quiet as it is without an endpoint.
  out.networked
    = job.rendezvous.has_value() && (!has_agent || job.agent_count_max > 1);
  out.lines = lines;
  out.on_closed
    = [this](const core::outcome& x) { handle(core::coordinator_closed{x}); };
  out.on_died = [this](const std::string& why) {
    actor_died(core::actor_died::role::coordinator, why);
  };
  out.on_records = journal_for(out);
  return out;
}

// A coordinator that comes later in this process has a journal of its own.
std::function<void(core::journal::chronicle::records)>
launcher::members::journal_for(const rendezvous_coordinator_config& x) {
  if (job.journal_folder.empty())
    return {};
  const auto now = std::chrono::floor<std::chrono::milliseconds>(
    std::chrono::system_clock::now());
  const auto name
    = file_name_of({x.job, x.host, now.time_since_epoch().count(), x.pid});
  journal = std::make_shared<journal_writer>(
    job.journal_folder + "/" + name,
    [lines = lines](const std::string& what) { lines.warn(what); },
    journal_limits{.after_launch = !job.rendezvous.has_value()});
  return [writer = journal](core::journal::chronicle::records y) {
    writer->write(std::move(y));
  };
}

core::job_settings launcher::members::settings() const {
  const auto may_move
    = job.backend == rendezvous_backend::etcd || job.succession;
  return {.agent_count_min = job.agent_count_min,
          .agent_count_max = job.agent_count_max,
          .restart_count_max = job.restart_count_max,
          .ranked = job.backend == rendezvous_backend::fixed,
          .lease = may_move ? job.timeouts.lease() : core::timeouts::ms{}};
}

// On the thread that opens coordinators.
void launcher::members::leave_leadership(const std::string& why) {
  if (journal)
    journal->leave(why);
  handle(core::leadership_left{});
}

// Nodes without a given rank all have rank 0.
result<void> launcher::members::host_as_first() {
  auto hosted = host_coordinator();
  if (!hosted)
    return failure{hosted.error().code,
                   hosted.error().text
                     + "; the node of --node-rank=0, which is the default, "
                       "hosts the job at --master-addr and --master-port"};
  return hosted;
}

result<void> launcher::members::open_etcd(const std::string& announced,
                                          bool alone) {
  auto opened = etcd_host::open(
    system, loop,
    {.job = job,
     .settings = settings(),
     .mine = mine,
     .announced = announced,
     .launch = hooks.launch,
     .is_alone = alone,
     .keeper = guardian,
     .configure = [this] { return coordinator_config(); },
     .on_closed
     = [this](const core::outcome& x) { handle(core::coordinator_closed{x}); },
     .on_left = [this](const std::string& why) { leave_leadership(why); },
     .agent = alone ? agent_id{} : own_id,
     .on_died =
       [this](const std::string& why) {
         actor_died(core::actor_died::role::coordinator, why);
       },
     .lines = lines});
  if (!opened)
    return opened.error();
  elected = std::move(*opened);
  return {};
}

result<void> launcher::members::open_voters(const agent_options& options) {
  const auto is_home = may_host_coordinator(job, options);
  auto voters = voter_host::open(
    system, loop,
    {.job = job,
     .settings = settings(),
     .mine = mine,
     .agent = own_id,
     .is_home = is_home,
     .announced = options.local_address,
     .launch = hooks.launch,
     .keeper = guardian,
     .configure =
       [this](bool is_first) {
         auto out = coordinator_config();
         if (is_first)
           learn_of_predecessor(out.beginning);
         return out;
       },
     .prepare = [this](hosted_coordinator& x) { pass_store_clients(x); },
     .on_closed
     = [this](const core::outcome& x) { handle(core::coordinator_closed{x}); },
     .on_left = [this](const std::string& why) { leave_leadership(why); },
     .on_died =
       [this](const std::string& why) {
         actor_died(core::actor_died::role::coordinator, why);
       },
     .lines = lines});
  if (may_host_coordinator(job, options)) {
    const auto place = place_of_coordinator(job);
    if (!place)
      return place.error();
    auto founded
      = voters->found(place->where, place->announced,
                      hooks.is_new_job ? std::optional{false} : std::nullopt);
    occupied = !founded && founded.error().code == errc::address_in_use
               && job.place == coordinator_place::automatic;
    if (!founded && !occupied)
      return founded;
    hosted_at = place->announced;
  }
  elected = std::move(voters);
  return {};
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

std::shared_ptr<ports::coordinator_locator>
launcher::members::make_locator(const core::offer& offering) {
  if (elected)
    return elected->locator_for(offering.agent);
  if (coordinator)
    return std::make_shared<local_locator>(
      caf::actor_cast<caf::strong_actor_ptr>(coordinator->actor()),
      job.rendezvous ? hosted_at : own_address);
  return keep(
    std::make_unique<coordinator_link>(
      system, *loop,
      coordinator_link::target{*job.rendezvous, mine, offering.agent.value,
                               offering.address, job.timeouts.connect, occupied,
                               guardian, job.timeouts.seek, hooks.launch},
      lines),
    loop);
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
    ports->share(entrance);
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
  ports->share(entrance);
  // Torch compares the address that a script was given with these, as text.
  // Where workers are told another address, the coordinator may not be there.
  const auto is_same_place = options.local_address.empty()
                             || options.local_address == job.rendezvous->host;
  if (entrance && job.backend == rendezvous_backend::fixed && is_same_place)
    ports->show(job.rendezvous->port);
  if (!options.local_address.empty())
    ports->announce(options.local_address);
  else if (coordinator)
    ports->announce(job.rendezvous ? hosted_at : own_address);
  // A node alone could never get another one.
  if (!job.rendezvous)
    if (auto held = ports->hold(); !held)
      return held.error();
  return made{std::move(ports)};
}

// For people, who steer the job there.
std::string launcher::members::coordinator_place() const {
  if (!job.rendezvous || coordinator)
    return {};
  return formatted(
    "--rdzv-endpoint={} --rdzv-id={}{}", to_string(*job.rendezvous),
    job.job.value,
    job.backend == rendezvous_backend::etcd ? " --rdzv-backend=etcd" : "");
}

core::coordinator_source launcher::members::next_coordinator() const {
  using kind = core::coordinator_source::kind;
  auto out = core::coordinator_source{};
  if (job.backend == rendezvous_backend::etcd)
    out.from = kind::registry;
  else if (job.backend == rendezvous_backend::fixed)
    out.from = kind::ranked;
  else if (job.succession)
    out.from = kind::voters;
  if (job.rendezvous)
    out.endpoint = to_string(*job.rendezvous);
  return out;
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
  if (coordinator
      && guardian) { // A link does it for agents of other processes.
    const auto shown
      = open_presence(mine.fingerprint, offering.agent, hooks.launch);
    if (!shown)
      return shown.error();
    guardian->keep(kept_socket::presence, shown->get());
  } else if (coordinator && !hooks.launch.empty()) {
    // No other node asks, but the next launch on this host does.
    auto shown
      = open_presence(fingerprint_of(job.job), offering.agent, hooks.launch);
    if (!shown)
      return shown.error();
    presence = std::move(*shown);
  }
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
     .settings = settings(),
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
     .locator = make_locator(offering),
     .coordinator_place = coordinator_place(),
     .next_coordinator = next_coordinator(),
     .observers = hooks.observers,
     .devices = devices->monitor(),
     .vitals = vitals,
     .lines = lines,
     .time_asleep = time_asleep,
     .on_leaving = [this](const auto& x) { end_job(x.signal); },
     .on_finished = [this](const core::ending& x) { agent_finished(x); }});
  return {};
}

void launcher::members::open_operator_socket() {
  auto opened = operator_socket::open(
    *loop, job.job,
    coordinator ? questions_to(coordinator->actor()) : questions_to(agent),
    coordinator ? socket_role::coordinator : socket_role::agent);
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

rendezvous_coordinator_actor launcher::members::own_coordinator() const {
  if (elected)
    return elected->coordinator();
  return coordinator ? coordinator->actor() : rendezvous_coordinator_actor{};
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
  setup.has_coordinator = [this] { return own_coordinator() != nullptr; };
  setup.is_elected = elected != nullptr;
  setup.ask_job = [this](operator_question x) { ask_about_job(std::move(x)); };
  if (agent)
    setup.ask_node = questions_to(agent);
  http->serve(std::move(setup));
}

void launcher::members::ask_about_job(operator_question x) {
  if (const auto whom = own_coordinator())
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
  const auto hosts
    = elected ? elected->coordinator() != nullptr : coordinator != nullptr;
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

// Events come on several threads. One of them carries out all orders, in their
// order: the last one lets the main thread destroy this object.
void launcher::members::handle(const core::node_end_event& event) {
  {
    const auto guard = std::lock_guard{mutex};
    end_events.push_back(event);
    if (std::exchange(is_ending, true))
      return;
  }
  for (;;) {
    auto effects = std::vector<core::node_end_effect>{};
    {
      const auto guard = std::lock_guard{mutex};
      if (end_events.empty()) {
        is_ending = false;
        return;
      }
      effects = end.step(end_events.front(), std::chrono::steady_clock::now());
      end_events.pop_front();
    }
    for (const auto& effect : effects) {
      const auto is_last = std::holds_alternative<core::end_node>(effect);
      std::visit([this](const auto& x) { perform(x); }, effect);
      if (is_last)
        return;
    }
  }
}

void launcher::members::perform(const core::show_logs&) {
  logs->flush([this] { handle(core::logs_shown{}); });
}

void launcher::members::perform(const core::resign_leadership&) {
  if (elected)
    elected->resign();
}

void launcher::members::perform(const core::pass_on_signal& x) {
  // In this order: its workers get the signal from the agent, and not from the end
  // of the job. An agent that has left already says nothing to the coordinator.
  if (agent) {
    tell_anonymously(agent, core::leave_requested{x.signal});
    end_job(x.signal);
  }
}

// A coordinator on its own leaves without ending the job: the next takes over.
void launcher::members::end_job(int signal) {
  if (coordinator)
    tell_anonymously(coordinator->actor(), core::stop_requested{signal});
}

void launcher::members::perform(const core::report_wait& x) {
  lines.info(formatted(
    "all is over here but the last lines of the workers: their files or "
    "the reader of this console do not keep up; {} the wait",
    x.signals_left == 1 ? "another signal ends" : "two signals end"));
}

void launcher::members::perform(const core::end_node& x) {
  report_stopping(x.how.why ? x.how.why->text : std::string{});
  promise.set_value(x.how);
  if (hooks.on_ended)
    hooks.on_ended(x.how);
}

void launcher::members::perform(const core::arm_timer& x) {
  alarm = reactor_handle{
    *loop, std::make_shared<one_timer>(
             *loop, x.due - std::chrono::steady_clock::now(),
             [this, id = x.timer] { handle(core::timer_fired{id}); })};
}

} // namespace actorrun
