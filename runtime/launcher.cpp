#include "runtime/launcher.hpp"

#include "actors/core/text.hpp"
#include "messages/formatted.hpp"
#include "messages/type_ids.hpp"
#include "runtime/http/ports.hpp"
#include "runtime/launcher/hosted_agent.hpp"
#include "runtime/launcher/loop_scheduler.hpp"
#include "runtime/launcher/node_coordinator.hpp"
#include "runtime/launcher/node_end_runner.hpp"
#include "runtime/launcher/service_report.hpp"
#include "runtime/network/job_credentials.hpp"
#include "runtime/network/operator_relay.hpp"
#include "runtime/network/operator_socket.hpp"
#include "runtime/os/own_process.hpp"
#include "runtime/os/socket_address.hpp"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace actorrun {

using namespace detail;

namespace {

failure not_configured() {
  return {errc::bad_argument,
          "the actor system does not know actorrun's messages: call"
          " actorrun::configure with its configuration before it is made"};
}

/// The manager has to wait longer than the grace period: for a second until the
/// cgroup is empty, and for the console.
constexpr auto stop_margin = std::chrono::seconds{10};

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

/// One node's part in one job.
struct launcher::members {
  members(caf::actor_system& sys, const job_options& job_,
          launcher_hooks hooks_, bool has_agent);

  /// @param options Of the agent. Null: there is a coordinator only, or a witness.
  result<void> open(const agent_options* options);

  /// It takes part in elections without an agent.
  bool is_witness() const { return !agent && job.succession; }

  /// Lets those outside in, once all is open.
  void show();
  void open_operator_socket();
  void warn_of_lacks();
  void report_stopping(const std::string& why);
  /// Passes on a question about the job to the actor that knows most.
  void ask_about_job(operator_question x);
  /// The same for what operators ask of this process, on the reactor's thread.
  void take_from_operator(operator_question x);
  void ask_agent(operator_question x);
  /// A witness knows nothing of the job itself.
  void ask_leader(operator_question x);
  void pass_on_signal(int signal);

  // They go in the reverse order: each one may be called by those below it until
  // these have gone.

  /// Of the newest coordinator here; null: none is kept. The last to go, because
  /// its last record says that nothing is left to do.
  std::shared_ptr<journal_writer> journal;
  caf::actor_system& system;
  job_options job;
  launcher_hooks hooks;
  std::string host;
  std::optional<agent_id> own_id; ///< None: there is a coordinator only.
  std::string local_address;      ///< Of a witness; empty: detected.
  std::shared_ptr<reactor> loop;
  std::shared_ptr<warden> guardian; ///< Null: the job has one node only.
  /// What this node's part in the job is without, and why, and goes on.
  std::vector<std::pair<std::string, std::string>> lacks;
  node_end_runner end;
  /// Null: there is none. `~launcher` ends it before the coordinator, which it calls;
  /// its logs outlive that, whose last event may have them shown.
  std::unique_ptr<hosted_agent> agent;
  std::mutex agent_mutex; ///< Guards the next.
  question_sink to_agent; ///< Null: there is none yet.
  /// To the coordinator, for operators who ask this agent or witness. Null: the job has
  /// one node, or there is neither.
  std::unique_ptr<operator_relay> relay;
  std::unique_ptr<node_coordinator> coordinator;
  std::optional<operator_socket> operators;
  std::unique_ptr<service_report> service; ///< Null: no manager waits.
  std::optional<http_ports> http;          ///< None: no port was asked for.
};

launcher::members::members(caf::actor_system& sys, const job_options& job_,
                           launcher_hooks hooks_, bool has_agent)
  : system(sys), job(job_), hooks(std::move(hooks_)), host(local_host_name()),
    own_id(has_agent ? std::optional{make_agent_id(host)} : std::nullopt),
    loop(loop_scheduler::reactor_for(system)),
    end(
      *loop, has_agent,
      {.show_logs = [this](auto done) { agent->logs().flush(std::move(done)); },
       .resign_leadership = [this] { coordinator->resign(); },
       .pass_on_signal = [this](int signal) { pass_on_signal(signal); },
       .on_ending =
         [this](const core::ending& how) {
           report_stopping(how.why ? how.why->text : std::string{});
         },
       .on_ended = hooks.on_ended},
      hooks.lines) {
  job.timeouts = core::fitted(job.timeouts, job.agent_count_max);
}

result<void> launcher::members::open(const agent_options* options) {
  auto mine = load_credentials(job);
  if (!mine)
    return mine.error();
  // Before anything runs: a port that is taken ends the start.
  if (hooks.http.is_any_set()) {
    auto opened = http_ports::open(hooks.http, hooks.lines);
    if (!opened)
      return opened.error();
    http.emplace(std::move(*opened));
  }
  // Before the agent, which gets its observer.
  if (!hooks.service.socket.empty()) {
    auto limit = std::chrono::milliseconds{stop_margin};
    if (options)
      limit += options->workers.grace_period;
    auto opened
      = service_report::open(system, *loop, hooks.service, limit, hooks.lines);
    if (!opened)
      return opened.error();
    service = std::move(*opened);
    hooks.observers.push_back(service->observer());
  }
  // Other nodes must learn when this process has ended.
  if (job.rendezvous) {
    guardian
      = start_warden(loop, [lines = hooks.lines] { lines.warn(warden_lost); });
    guardian->set_linger(job.timeouts.lease(), job.timeouts.seek_again());
  }
  if (options) {
    auto opened = hosted_agent::open(
      system, loop,
      {job, *options, hooks, host, *own_id, guardian,
       [this](auto what, auto why) { lacks.emplace_back(what, why); }},
      end);
    if (!opened)
      return opened.error();
    agent = std::move(*opened);
  }
  if ((job.rendezvous && agent) || is_witness())
    relay = std::make_unique<operator_relay>(
      *loop, operator_relay_config{
               .mine = *mine,
               .where = [this] { return coordinator->place_on_network(); },
               .otherwise = [this](auto x) { ask_agent(std::move(x)); }});
  coordinator = std::make_unique<node_coordinator>(
    system, loop,
    node_coordinator_config{
      job, std::move(*mine), host, own_id, local_address, hooks.launch,
      hooks.is_new_job, [this](auto x) { take_from_operator(std::move(x)); },
      guardian, hooks.lines},
    journal, end);
  if (auto opened = coordinator->open(options); !opened)
    return opened;
  if (!agent)
    return {};
  if (auto spawned = agent->spawn(*coordinator); !spawned)
    return spawned;
  const auto guard = std::lock_guard{agent_mutex};
  to_agent = questions_to(agent->actor());
  return {};
}

void launcher::members::show() {
  open_operator_socket();
  warn_of_lacks();
  const auto ask_job
    = [this](operator_question x) { ask_about_job(std::move(x)); };
  const auto ask_node = agent ? questions_to(agent->actor()) : question_sink{};
  if (http) {
    auto setup = view_setup{};
    setup.job_id = job.job.value;
    setup.host = host;
    setup.has_coordinator = [this] { return coordinator->actor() != nullptr; };
    setup.is_elected = coordinator->is_elected();
    setup.ask_job = ask_job;
    setup.ask_node = ask_node;
    http->serve(std::move(setup));
  }
  if (service && agent)
    service->ready("waits for a generation", ask_node);
  else if (service)
    service->ready((is_witness() ? "is a witness of " : "coordinates ")
                     + job.job.value,
                   ask_job);
}

// In this order: its workers get the signal from the agent, and not from the end
// of the job. An agent that has left already says nothing to the coordinator.
void launcher::members::pass_on_signal(int signal) {
  if (!agent)
    return;
  tell_anonymously(agent->actor(), core::leave_requested{signal});
  coordinator->end_job(signal);
}

// An elected coordinator without an agent opens its own while it leads.
void launcher::members::open_operator_socket() {
  const auto is_hosted = coordinator->is_hosted();
  if (!agent && !is_hosted && !is_witness())
    return;
  auto opened = operator_socket::open(
    *loop, job.job,
    is_hosted ? questions_to(coordinator->actor())
              : question_sink{[this](operator_question x) {
                  take_from_operator(std::move(x));
                }},
    agent && !is_hosted ? socket_role::agent : socket_role::coordinator);
  if (opened)
    operators = std::move(*opened);
  else
    lacks.emplace_back("actorctl cannot reach this job", opened.error().text);
}

// Mostly they have one cause, the run-time folder: that is one line.
void launcher::members::warn_of_lacks() {
  while (!lacks.empty()) {
    const auto why = lacks.front().second;
    auto what = std::string{};
    for (const auto& [x, cause] : lacks)
      if (cause == why)
        what += (what.empty() ? "" : ", ") + x;
    std::erase_if(lacks, [&](const auto& x) { return x.second == why; });
    hooks.lines.warn(what + ": " + why);
  }
}

void launcher::members::ask_about_job(operator_question x) {
  if (const auto whom = coordinator->actor())
    tell_anonymously(whom, std::move(x));
  else if (agent)
    tell_anonymously(agent->actor(), std::move(x));
  else
    x.reply(standby_reply(job.job));
}

// Here the agent passes on what it may; of logs and stacks it has its node's only. Who
// takes more lines of a reading is where that has begun: the others do not know it.
void launcher::members::take_from_operator(operator_question x) {
  if (x.what.has_elect())
    return coordinator->elect(std::move(x));
  if (is_witness())
    return ask_leader(std::move(x));
  const auto is_here = [&] {
    const auto known = coordinator->place();
    return known && known->is_here;
  };
  if (relay && x.what.has_log_credit())
    relay->take(x);
  if (relay && operator_relay::is_for_coordinator(x.what)
      && (x.what.has_logs() || x.what.has_stacks() || !is_here()))
    return relay->take(std::move(x));
  ask_agent(std::move(x));
}

void launcher::members::ask_agent(operator_question x) {
  const auto to = [this] {
    const auto guard = std::lock_guard{agent_mutex};
    return to_agent;
  }();
  if (to)
    to(std::move(x));
  else
    x.reply(standby_reply(job.job));
}

void launcher::members::ask_leader(operator_question x) {
  if (x.what.has_log_credit())
    relay->take(x);
  if (const auto whom = coordinator->actor())
    tell_anonymously(whom, std::move(x));
  else
    relay->take(std::move(x));
}

void launcher::members::report_stopping(const std::string& why) {
  if (service)
    service->stopping(why);
}

// -- the launcher -------------------------------------------------------------

launcher::launcher(std::unique_ptr<members> x) : members_(std::move(x)) {}

// First what asks the actors, then the agent. The members' own order does the rest:
// the coordinator, logs and timers, the timer of the end, the wardens, the reactor.
launcher::~launcher() {
  members_->http.reset();
  members_->report_stopping({}); // If nothing has done so.
  members_->service.reset();
  members_->operators.reset();
  if (members_->agent)
    members_->agent->end();
}

result<std::unique_ptr<launcher>> launcher::start(caf::actor_system& system,
                                                  const job_options& job,
                                                  const agent_options& agent,
                                                  launcher_hooks hooks) {
  if (auto valid = validate(job, agent); !valid)
    return valid.error();
  if (!knows_wire_types(system))
    return not_configured();
  if (std::ranges::any_of(hooks.observers, [](const auto& x) { return !x; }))
    return failure{errc::bad_argument,
                   "launcher_hooks::observers has a null handle"};
  auto x = std::make_unique<members>(system, job, std::move(hooks), true);
  if (auto opened = x->open(&agent); !opened)
    return opened.error();
  x->show();
  return std::unique_ptr<launcher>{new launcher{std::move(x)}};
}

result<std::unique_ptr<launcher>>
launcher::start_coordinator(caf::actor_system& system, const job_options& job,
                            launcher_hooks hooks, std::string local_address) {
  assert(job.rendezvous);
  if (auto valid = validate(job); !valid)
    return valid.error();
  if (!knows_wire_types(system))
    return not_configured();
  auto x = std::make_unique<members>(system, job, std::move(hooks), false);
  x->local_address = std::move(local_address);
  if (auto opened = x->open(nullptr); !opened)
    return opened.error();
  x->show();
  return std::unique_ptr<launcher>{new launcher{std::move(x)}};
}

void launcher::observe(job_observer_actor who) {
  assert(who && members_->agent);
  tell_anonymously(members_->agent->actor(), std::move(who));
}

caf::actor_addr launcher::agent() const {
  return members_->agent ? members_->agent->actor()->address()
                         : caf::actor_addr{};
}

caf::actor_addr launcher::coordinator() const {
  const auto x = members_->coordinator->actor();
  return x ? x->address() : caf::actor_addr{};
}

timer_server_actor launcher::timers() const {
  return members_->agent ? members_->agent->timers().server()
                         : timer_server_actor{};
}

void launcher::leave(int signal) {
  members_->report_stopping(
    formatted("stops its workers on {}", core::signal_name(signal)));
  members_->end.handle(core::signal_received{signal});
}

void launcher::end_with_process() {
  members_->http.reset();
  members_->report_stopping({});
  members_->operators.reset();
  members_->coordinator->end_with_process();
  members_->journal.reset();
  members_->service.reset(); // The coordinator has used it.
}

void launcher::notify(int signal) {
  if (members_->agent)
    tell_anonymously(members_->agent->actor(), notify_group{signal});
}

void launcher::announce_limit(std::chrono::seconds left) {
  if (members_->agent)
    tell_anonymously(members_->agent->actor(), core::limit_near{left});
}

bool launcher::awaits_console() const {
  return members_->end.awaits_console();
}

core::ending launcher::wait() {
  return members_->end.wait();
}

std::string launcher::log_folder() const {
  return members_->agent ? members_->agent->logs().folder() : std::string{};
}

std::vector<std::string> launcher::binding_report() const {
  return members_->agent ? members_->agent->devices().report()
                         : std::vector<std::string>{};
}

} // namespace actorrun
