#include "runtime/launcher/hosted_agent.hpp"

#include "messages/formatted.hpp"
#include "runtime/checks/check_runner.hpp"
#include "runtime/control/worker_control_socket.hpp"
#include "runtime/diagnosis/posix_stuck_probe.hpp"
#include "runtime/diagnosis/proc_vitals.hpp"
#include "runtime/diagnosis/ras_client.hpp"
#include "runtime/diagnosis/worker_evidence.hpp"
#include "runtime/launcher/hosting.hpp"
#include "runtime/os/clock.hpp"
#include "runtime/os/own_process.hpp"
#include "runtime/processes/posix_process_host.hpp"
#include "runtime/store/master_port.hpp"
#include "runtime/store/ports.hpp"

#include <caf/scoped_actor.hpp>

#include <utility>

namespace actorrun::detail {

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

core::straggler_limits limits_of(const straggler_options& x) {
  using enum core::straggler_action;
  return {.distance = x.distance,
          .windows = x.windows,
          .action = x.policy == straggler_policy::check   ? check
                    : x.policy == straggler_policy::drain ? drain
                                                          : report};
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

/// Jobs on one host must not share NCCL's usual port. What a person has chosen stays;
/// what a launcher above this one has chosen is its own.
/// @returns where the workers' RAS service is to be asked
std::optional<uint16_t> settle_ras(std::span<const std::string> inherited,
                                   core::job_environment& to) {
  const auto has = [&](std::string_view name) {
    return std::ranges::any_of(inherited, [&](const auto& x) {
      return x.starts_with(name) && x.substr(name.size()).starts_with('=');
    });
  };
  if (has(ras_variable) && !has("ACTORRUN_JOB_ID"))
    return ras_port_of(inherited);
  if (is_ras_off(inherited))
    return {};
  const auto port = free_ras_port();
  if (port == 0)
    return {};
  to.ras_address = "127.0.0.1:" + std::to_string(port);
  return port;
}

} // namespace

// -- before the first worker, and until after the last ------------------------

result<std::unique_ptr<hosted_agent>>
hosted_agent::open(caf::actor_system& system, std::shared_ptr<reactor> loop,
                   hosted_agent_config config, node_end_runner& end) {
  auto out = std::unique_ptr<hosted_agent>{
    new hosted_agent{system, std::move(loop), std::move(config), end}};
  const auto& [job, options, hooks, host, id, guardian, on_lack] = out->config_;
  // First, because a job whose output cannot be logged must not begin.
  auto logs = node_logs::open(system, out->loop_,
                              {.job = job.job,
                               .options = options.logs,
                               .role = options.workers.role,
                               .host = host,
                               .layout = hooks.layout,
                               .console = hooks.console,
                               .lines = hooks.lines,
                               .record_folder = job.journal_folder,
                               .agent = id});
  if (!logs)
    return logs.error();
  out->logs_ = std::move(*logs);
  auto timers = node_timers::open(system, out->loop_,
                                  {.options = options.timers,
                                   .spawn = hooks.timer_server,
                                   .functions = hooks.timers,
                                   .lines = hooks.lines});
  if (!timers)
    return timers.error();
  out->timers_ = std::move(*timers);
  if (const auto& why = out->timers_->obstacle(); !why.empty())
    on_lack("workers have no timers", why);
  out->open_steps();
  // Workers that cannot be bound as ordered must not begin either.
  auto devices = node_devices::open(options, hooks.lines);
  if (!devices)
    return devices.error();
  out->devices_.emplace(std::move(*devices));
  // A name that is wrong would be found when it is too late.
  auto notices = node_notices::open(options.notices, hooks.lines);
  if (!notices)
    return notices.error();
  out->notices_ = std::move(*notices);
  return out;
}

void hosted_agent::open_events() {
  const auto& options = config_.options;
  if (!config_.hooks.on_event)
    return;
  const auto& program = options.workers.command.front();
  auto name = options.entry_name.empty()
                ? program.substr(program.rfind('/') + 1)
                : options.entry_name;
  events_ = std::make_shared<event_feed>(
    core::event_subject{.job = config_.job.job,
                        .role = options.workers.role,
                        .host = config_.host,
                        .backend = name_of(config_.job.backend),
                        .entry_point = std::move(name)},
    config_.hooks.on_event);
}

void hosted_agent::open_steps() {
  if (config_.options.stragglers.distance == 0)
    return;
  auto opened = step_pages::open();
  if (opened)
    steps_ = std::move(*opened);
  else
    config_.on_lack("no worker can say how long it computes",
                    opened.error().text);
}

// Without it they end at each change, as those do that know nothing of it.
std::shared_ptr<ports::worker_control> hosted_agent::open_control() const {
  auto opened = worker_control_socket::open(*loop_);
  if (opened)
    return keep<ports::worker_control>(std::move(*opened), loop_);
  config_.on_lack("no worker can live through a change", opened.error().text);
  return nullptr;
}

// -- the agent ----------------------------------------------------------------

std::shared_ptr<ports::process_host> hosted_agent::make_process_host() {
  const auto& lines = config_.hooks.lines;
  auto made = std::make_unique<posix_process_host>(
    *loop_, [lines](const std::string& x) { lines.warn(x); },
    devices_->gate(loop_), config_.guardian);
  made->set_detail_handler([lines](const std::string& x) { lines.debug(x); });
  if (config_.hooks.owns_children)
    made->own_children();
  const auto gone = std::make_shared<std::promise<void>>();
  workers_gone_ = gone->get_future();
  return {made.release(), [loop = loop_, gone](ports::process_host* x) {
            delete x;
            gone->set_value();
          }};
}

// A known address is resolved here, because a name may take long. Otherwise the
// first link announces a numeric one.
result<std::shared_ptr<ports::master_ports>>
hosted_agent::make_ports(const node_coordinator& coordinator) const {
  using made = std::shared_ptr<ports::master_ports>;
  const auto& job = config_.job;
  const auto& options = config_.options;
  const auto& hooks = config_.hooks;
  if (!options.agent_store) {
    auto ports = std::make_shared<reserved_ports>(options.master_port);
    if (hooks.preferred_master_port && !options.master_port)
      ports->prefer(*hooks.preferred_master_port);
    ports->share(coordinator.entrance());
    if (auto held = ports->hold(); !held)
      return held.error();
    return made{std::move(ports)};
  }
  auto ports = keep(
    std::make_unique<store_ports>(
      *loop_, store_place{options.master_port, !job.rendezvous}, hooks.lines),
    loop_);
  if (hooks.preferred_master_port && !options.master_port)
    ports->prefer(*hooks.preferred_master_port);
  ports->share(coordinator.entrance());
  // Torch compares the address that a script was given with these, as text.
  // Where workers are told another address, the coordinator may not be there.
  const auto is_same_place = options.local_address.empty()
                             || options.local_address == job.rendezvous->host;
  if (coordinator.entrance() && job.backend == rendezvous_backend::fixed
      && is_same_place)
    ports->show(job.rendezvous->port);
  if (!options.local_address.empty())
    ports->announce(options.local_address);
  else if (coordinator.is_hosted())
    ports->announce(coordinator.address());
  // A node alone could never get another one.
  if (!job.rendezvous)
    if (auto held = ports->hold(); !held)
      return held.error();
  return made{std::move(ports)};
}

worker_supervisor_config hosted_agent::supervisors_config(
  std::shared_ptr<ports::process_host> processes,
  std::shared_ptr<ports::master_ports> ports) const {
  const auto& job = config_.job;
  const auto& options = config_.options;
  auto environment
    = core::job_environment{job.job, options.workers.role,
                            job.restart_count_max, options.signals_to_handle};
  environment.agent_store = options.agent_store;
  environment.virtual_local_rank = options.virtual_local_rank;
  environment.visible_devices = options.visible_devices;
  timers_->announce(environment);
  if (steps_)
    environment.steps_prefix = steps_->prefix();
  auto control = open_control();
  if (control)
    environment.control_socket = control->address();
  auto inherited = environment_of_workers();
  const auto ras_port = settle_ras(inherited, environment);
  return {.workers = options.workers,
          .job = std::move(environment),
          .environment = std::move(inherited),
          .host = config_.host,
          .processes = std::move(processes),
          .ports = std::move(ports),
          .layout = logs_->layout(),
          .evidence = std::make_shared<worker_evidence>(logs_->full_disks()),
          .files = logs_->files(),
          .tailer = logs_->tailer(),
          .timers = timers_->server(),
          .probe = std::make_shared<posix_stuck_probe>(
            search_path_of_this_process(), ras_port),
          .control = std::move(control),
          .vitals = std::make_shared<proc_vitals>(),
          .reader = logs_->reader(),
          .bindings = devices_->bindings(),
          .on_event = event_listener(events_),
          .lines = config_.hooks.lines};
}

// Of one node alone, the processes of workers would have a guardian of their own.
void hosted_agent::ensure_guardian() {
  if (!config_.guardian)
    config_.guardian = start_warden(
      loop_, [lines = config_.hooks.lines] { lines.warn(warden_lost); });
}

node_checker_config hosted_agent::checks() const {
  const auto& asked = config_.options.checks;
  if (asked.commands.empty())
    return {};
  const auto& folder = config_.options.logs.folder;
  auto own = own_checks{.program = asked.built_in};
  if (!folder.empty() && folder != "/dev/null")
    own.folders = {folder};
  return {.options = {asked.commands, asked.when, asked.limit},
          .runner = make_check_runner(loop_, environment_of_workers(),
                                      config_.guardian, std::move(own)),
          .lines = config_.hooks.lines};
}

result<void> hosted_agent::spawn(node_coordinator& coordinator) {
  const auto& options = config_.options;
  open_events();
  const auto is_checked = !options.checks.commands.empty();
  if (is_checked || (notices_ && notices_->has_command()))
    ensure_guardian();
  auto processes = make_process_host();
  auto ports = make_ports(coordinator);
  if (!ports)
    return ports.error();
  const auto offering = core::offer{
    .agent = config_.id,
    .host = config_.host,
    .address = options.local_address,
    .role = options.workers.role,
    .slot_count = options.workers.slot_count,
    .master_port = (*ports)->next(),
    .node_rank = options.node_rank,
    .is_checked_after_failure = is_checked && options.checks.when.failure,
    .is_checked_after_end = is_checked && options.checks.when.restart,
    .has_checks = is_checked};
  if (auto shown = coordinator.show_agent(); !shown)
    return shown.error();
  auto supervisor = supervisors_config(std::move(processes), std::move(*ports));
  const auto vitals = supervisor.vitals;
  actor_ = spawn_node_agent(
    system_, {.offering = offering,
              .settings = coordinator.settings(),
              .limits = coordinator.limits(),
              .supervisor = std::move(supervisor),
              .locator = coordinator.locator(options.local_address),
              .coordinator_place = coordinator.options_for_operators(),
              .next_coordinator = coordinator.next(),
              .observers = config_.hooks.observers,
              .checks = checks(),
              .hangs = {options.hangs.timeout, options.hangs.ends_worker,
                        options.hangs.learns_timeout},
              .stragglers = limits_of(options.stragglers),
              .steps = steps_,
              .devices = devices_->monitor(),
              .vitals = vitals,
              .lines = config_.hooks.lines,
              .time_asleep = time_asleep,
              .on_leaving = [&coordinator](
                              const auto& x) { coordinator.end_job(x.signal); },
              .on_finished =
                [this, &coordinator](core::ending x) {
                  coordinator.part(x);
                  finish(std::move(x), coordinator.actor() != nullptr);
                }});
  watch_ = actor_watch{
    actor_, [this](const std::string& why) {
      end_.handle(core::actor_died{core::actor_died::role::agent, why});
    }};
  return notices_ ? watch_for_notices() : result<void>{};
}

// The command gets the variables that workers get, without those of its own.
result<void> hosted_agent::watch_for_notices() {
  return notices_->start(loop_, environment_of_workers(), config_.guardian,
                         [handle = actor_](std::string words) {
                           tell_anonymously(
                             handle, core::notice_received{std::move(words)});
                         });
}

void hosted_agent::finish(core::ending how, bool has_coordinator) {
  const auto& job = config_.job;
  if (how.why && how.why->code == errc::connection_timed_out && job.rendezvous
      && job.backend != rendezvous_backend::etcd) {
    const auto where = meeting_points(job);
    if (how.why->text.find(where) == std::string::npos)
      how.why->text += formatted("; it was looked for at {}", where);
  }
  if (events_)
    events_->note(how);
  // A coordinator of one node alone would wait for an agent that cannot come; but
  // of workers that were given up it knows why the job has failed.
  const auto waits
    = job.rendezvous || !how.why || how.why->code == errc::worker_unkillable;
  end_.handle(core::agent_finished{std::move(how), has_coordinator && waits});
}

void hosted_agent::end() {
  notices_.reset();
  watch_.release();
  const auto agent = std::exchange(actor_, node_agent_actor{});
  if (!agent)
    return;
  caf::scoped_actor self{system_};
  self->send_exit(agent, caf::exit_reason::kill);
  self->wait_for(agent);
  workers_gone_.wait();
}

} // namespace actorrun::detail
