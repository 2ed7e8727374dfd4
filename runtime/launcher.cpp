#include "actorrun/runtime/launcher.hpp"

#include "actorrun/actors/node_agent.hpp"
#include "actorrun/actors/rendezvous_coordinator.hpp"
#include "actorrun/runtime/detail/caf_links.hpp"
#include "actorrun/runtime/detail/door_locator.hpp"
#include "actorrun/runtime/detail/hub.hpp"
#include "actorrun/runtime/detail/keep.hpp"
#include "actorrun/runtime/detail/node_logs.hpp"
#include "actorrun/runtime/detail/node_timers.hpp"
#include "actorrun/runtime/detail/operator_door.hpp"
#include "actorrun/runtime/detail/own_process.hpp"
#include "actorrun/runtime/detail/posix_process_host.hpp"
#include "actorrun/runtime/detail/posix_stuck_probe.hpp"
#include "actorrun/runtime/detail/reserved_ports.hpp"
#include "actorrun/runtime/detail/worker_evidence.hpp"

#include <caf/actor_system_config.hpp>
#include <caf/io/middleman.hpp>
#include <caf/scoped_actor.hpp>

#include <cassert>
#include <future>
#include <mutex>

#include <unistd.h>

namespace actorrun {

using namespace detail;

void configure(caf::actor_system_config& config) {
  register_wire_types(config);
  config.load<caf::io::middleman>();
}

struct launcher::parts {
  parts(caf::actor_system& sys, job_options job_, launcher_hooks hooks_)
    : system(sys), job(std::move(job_)), hooks(std::move(hooks_)),
      lines(hooks.lines), mine(credentials_of_job()), host(local_host_name()) {}

  credentials credentials_of_job() const {
    return job.rendezvous ? credentials_of(job.job, job.secret) : credentials{};
  }

  result<std::monostate> open_logs(const agent_options& options);
  result<std::monostate> open_timers(const agent_options& options);
  result<std::monostate> host_coordinator(bool alone);
  result<std::monostate> maybe_host_coordinator();
  void spawn_coordinator(bool successor);
  void spawn_agent(const agent_options& options);
  std::shared_ptr<ports::coordinator_locator>
  make_locator(const core::offer& offering);
  void open_operator_door();
  void coordinator_closed(const core::outcome& result);
  void agent_finished(const core::ending& how);
  void logs_shown();
  bool is_protocol_over() const;
  void end_if_over();

  caf::actor_system& system;
  job_options job;
  launcher_hooks hooks;
  log lines;
  credentials mine;
  std::string host;
  bool occupied = false; ///< Somebody else listens at our endpoint.
  std::shared_ptr<reactor> loop = std::make_shared<reactor>();
  std::shared_ptr<hub> links;
  rendezvous_coordinator_actor coordinator;
  node_agent_actor agent;
  std::optional<operator_door> operators;
  std::unique_ptr<node_logs> logs;     ///< Null: there is no agent.
  std::unique_ptr<node_timers> timers; ///< Likewise.

  std::mutex mutex; // Guards the rest.
  std::optional<core::ending> ending;
  std::optional<core::ending> coordinators_ending;
  bool shown = false; ///< Nobody waits for the console any more.
  bool over = false;
  size_t leave_count = 0;
  std::promise<core::ending> promise;
  std::shared_future<core::ending> future = promise.get_future().share();
};

// -- the coordinator ----------------------------------------------------------

result<std::monostate> launcher::parts::maybe_host_coordinator() {
  if (!job.rendezvous) {
    spawn_coordinator(false);
    return std::monostate{};
  }
  if (job.place == coordinator_place::elsewhere
      || (job.place == coordinator_place::automatic
          && !names_this_host(job.rendezvous->host)))
    return std::monostate{};
  auto hosted = host_coordinator(false);
  if (!hosted && hosted.error().code == errc::address_in_use
      && job.place == coordinator_place::automatic) {
    // Most likely another agent of the job on this host; its door will tell.
    occupied = true;
    return std::monostate{};
  }
  return hosted;
}

// A coordinator on its own may be started again while its agents wait for it;
// one that an agent hosts only follows another if that ended untidily.
result<std::monostate> launcher::parts::host_coordinator(bool alone) {
  const auto where = listen_address(job.rendezvous->host, job.rendezvous->port);
  if (!where)
    return where.error();
  const auto folder = run_folder::open();
  const auto successor
    = (folder && folder->left_by_predecessor(job.job)) || alone;
  spawn_coordinator(successor); // Before anybody can come in to it.
  auto listening = links->listen(*where, mine);
  if (!listening) {
    caf::anon_send_exit(coordinator, caf::exit_reason::kill);
    coordinator = nullptr;
    links.reset();
    return listening.error();
  }
  lines.info("coordinator of job " + job.job.value + " listens on "
             + *listening);
  if (job.secret.empty() && !is_loopback(*where))
    lines.warn("the job has no secret: whoever knows its id may take part; "
               "set --secret-file or ACTORRUN_SECRET on all nodes");
  return std::monostate{};
}

void launcher::parts::spawn_coordinator(bool successor) {
  links = keep(std::make_unique<hub>(system, *loop, lines), loop);
  coordinator = spawn_rendezvous_coordinator(
    system,
    {.job = job.job,
     .settings
     = {job.agent_count_min, job.agent_count_max, job.restart_count_max},
     .limits = job.timeouts,
     .host = host,
     .pid = ::getpid(),
     .successor = successor,
     .networked = job.rendezvous.has_value(),
     .links = links,
     .lines = lines,
     .on_closed = [this](const core::outcome& x) { coordinator_closed(x); }});
  links->serve_for(coordinator);
}

// -- the agent ----------------------------------------------------------------

// First of all: what cannot be logged shall not begin.
result<std::monostate>
launcher::parts::open_logs(const agent_options& options) {
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
  return std::monostate{};
}

// Before the first worker, and until after the last.
result<std::monostate>
launcher::parts::open_timers(const agent_options& options) {
  auto opened = node_timers::open(
    system, loop,
    {.options = options.timers, .spawn = hooks.timer_server, .lines = lines});
  if (!opened)
    return opened.error();
  timers = std::move(*opened);
  return std::monostate{};
}

std::shared_ptr<ports::coordinator_locator>
launcher::parts::make_locator(const core::offer& offering) {
  // Where a single node's workers meet: themselves.
  constexpr auto own_address = "127.0.0.1";
  if (coordinator)
    return std::make_shared<local_locator>(
      caf::actor_cast<caf::strong_actor_ptr>(coordinator),
      job.rendezvous ? job.rendezvous->host : own_address);
  return keep(
    std::make_unique<door_locator>(
      system, *loop,
      door_locator::target{*job.rendezvous, mine, offering.agent.value,
                           job.timeouts.connect, occupied},
      lines),
    loop);
}

void launcher::parts::spawn_agent(const agent_options& options) {
  auto processes
    = keep(std::make_unique<posix_process_host>(
             *loop, [lines = lines](const std::string& x) { lines.warn(x); }),
           loop);
  auto ports = std::make_shared<reserved_ports>();
  const auto offering = core::offer{.agent = make_agent_id(host),
                                    .host = host,
                                    .address = options.local_address,
                                    .role = options.workers.role,
                                    .slot_count = options.workers.slot_count,
                                    .master_port = ports->next()};
  auto environment
    = core::job_environment{job.job, options.workers.role,
                            job.restart_count_max, options.signals_to_handle};
  timers->announce(environment);
  agent = spawn_node_agent(
    system,
    {.offering = offering,
     .settings
     = {job.agent_count_min, job.agent_count_max, job.restart_count_max},
     .limits = job.timeouts,
     .supervisor = {.workers = options.workers,
                    .job = std::move(environment),
                    .environment = own_environment(),
                    .host = host,
                    .processes = std::move(processes),
                    .ports = std::move(ports),
                    .layout = logs->layout(),
                    .evidence = std::make_shared<worker_evidence>(),
                    .tailer = logs->tailer(),
                    .timers = timers->server(),
                    .probe = std::make_shared<posix_stuck_probe>(
                      search_path_of_this_process()),
                    .lines = lines},
     .locator = make_locator(offering),
     .observers = hooks.observers,
     .lines = lines,
     .on_finished = [this](const core::ending& x) { agent_finished(x); }});
}

void launcher::parts::open_operator_door() {
  auto door = operator_door::open(
    system, *loop, job.job,
    coordinator ? caf::actor_cast<caf::strong_actor_ptr>(coordinator)
                : caf::actor_cast<caf::strong_actor_ptr>(agent),
    coordinator ? socket_role::coordinator : socket_role::agent);
  if (door)
    operators.emplace(std::move(*door));
  else
    lines.warn("actorctl cannot reach this job: " + door.error().text);
}

// -- the end ------------------------------------------------------------------

void launcher::parts::coordinator_closed(const core::outcome& result) {
  const auto guard = std::lock_guard{mutex};
  coordinators_ending = core::ending{.result = result, .why = {}, .signal = 0};
  end_if_over();
}

void launcher::parts::agent_finished(const core::ending& how) {
  {
    const auto guard = std::lock_guard{mutex};
    ending = how;
  }
  logs->flush([this] { logs_shown(); });
}

void launcher::parts::logs_shown() {
  const auto guard = std::lock_guard{mutex};
  shown = true;
  end_if_over();
}

// The host of the coordinator stays until all others know the outcome.
bool launcher::parts::is_protocol_over() const {
  return (!agent || ending) && (!coordinator || coordinators_ending);
}

void launcher::parts::end_if_over() {
  if (over || !is_protocol_over() || (agent && !shown))
    return;
  over = true;
  auto how = ending ? *ending : *coordinators_ending;
  // An agent that gives up workers goes before it hears what became of the job.
  if (how.why && !how.result && coordinators_ending)
    how.result = coordinators_ending->result;
  promise.set_value(how);
  if (hooks.on_ended)
    hooks.on_ended(how);
}

// -- the launcher -------------------------------------------------------------

launcher::launcher(std::unique_ptr<parts> x) : parts_(std::move(x)) {}

// Actors call back into the parts until they are down.
launcher::~launcher() {
  parts_->operators.reset();
  caf::scoped_actor self{parts_->system};
  if (parts_->agent) {
    self->send_exit(parts_->agent, caf::exit_reason::kill);
    self->wait_for(parts_->agent);
  }
  if (parts_->coordinator) {
    self->send_exit(parts_->coordinator, caf::exit_reason::kill);
    self->wait_for(parts_->coordinator);
  }
  parts_->timers.reset();
  parts_->logs.reset();
}

result<std::unique_ptr<launcher>> launcher::start(caf::actor_system& system,
                                                  const job_options& job,
                                                  const agent_options& agent,
                                                  launcher_hooks hooks) {
  if (auto valid = validate(job); !valid)
    return valid.error();
  if (auto valid = validate(agent); !valid)
    return valid.error();
  harden(system);
  auto x = std::make_unique<parts>(system, job, std::move(hooks));
  if (auto opened = x->open_logs(agent); !opened)
    return opened.error();
  if (auto opened = x->open_timers(agent); !opened)
    return opened.error();
  if (auto hosted = x->maybe_host_coordinator(); !hosted)
    return hosted.error();
  {
    const auto guard = std::lock_guard{x->mutex};
    x->spawn_agent(agent);
  }
  x->open_operator_door();
  return std::unique_ptr<launcher>{new launcher{std::move(x)}};
}

result<std::unique_ptr<launcher>>
launcher::start_coordinator(caf::actor_system& system, const job_options& job,
                            launcher_hooks hooks) {
  assert(job.rendezvous);
  if (auto valid = validate(job); !valid)
    return valid.error();
  harden(system);
  auto x = std::make_unique<parts>(system, job, std::move(hooks));
  if (auto hosted = x->host_coordinator(true); !hosted)
    return hosted.error();
  x->open_operator_door();
  return std::unique_ptr<launcher>{new launcher{std::move(x)}};
}

node_agent_actor launcher::agent() const {
  return parts_->agent;
}

rendezvous_coordinator_actor launcher::coordinator() const {
  return parts_->coordinator;
}

timer_server_actor launcher::timers() const {
  return parts_->timers ? parts_->timers->server() : timer_server_actor{};
}

void launcher::leave(int signal) {
  {
    const auto guard = std::lock_guard{parts_->mutex};
    if (++parts_->leave_count > 1 && parts_->is_protocol_over()) {
      parts_->shown = true;
      parts_->end_if_over();
    }
  }
  if (parts_->agent)
    tell_anonymously(parts_->agent,
                     core::membership_event{core::leave_requested{signal}});
  // A coordinator on its own goes without the job: the next one takes over.
  if (parts_->agent && parts_->coordinator)
    tell_anonymously(parts_->coordinator,
                     core::rendezvous_event{core::stop_requested{signal}});
}

void launcher::notify(int signal) {
  if (parts_->agent)
    tell_anonymously(parts_->agent, notify_group{signal});
}

bool launcher::awaits_console() const {
  const auto guard = std::lock_guard{parts_->mutex};
  return parts_->is_protocol_over() && !parts_->over;
}

core::ending launcher::wait() {
  return parts_->future.get();
}

std::string launcher::log_folder() const {
  return parts_->logs ? parts_->logs->folder() : std::string{};
}

} // namespace actorrun
