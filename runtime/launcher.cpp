#include "runtime/launcher.hpp"

#include "actors/core/text.hpp"
#include "messages/formatted.hpp"
#include "messages/type_ids.hpp"
#include "runtime/launcher/members.hpp"
#include "runtime/network/job_credentials.hpp"

#include <caf/scoped_actor.hpp>

#include <algorithm>
#include <cassert>

namespace actorrun {

using namespace detail;

namespace {

failure not_configured() {
  return {errc::bad_argument,
          "the actor system does not know actorrun's messages: call"
          " actorrun::configure with its configuration before it is made"};
}

} // namespace

launcher::launcher(std::unique_ptr<members> x) : members_(std::move(x)) {}

// Actors call back into the members until they have ended.
launcher::~launcher() {
  members_->http.reset();
  members_->report_stopping({}); // If nothing has done so.
  members_->service.reset();
  members_->operators.reset();
  members_->agent_watch.release();
  caf::scoped_actor self{members_->system};
  if (members_->agent) {
    self->send_exit(members_->agent, caf::exit_reason::kill);
    self->wait_for(members_->agent);
    members_->workers_gone->get_future().wait();
  }
  members_->coordinator.reset(); // Its last event may show the logs.
  members_->timers.reset();
  members_->logs.reset();
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
  auto mine = load_credentials(job);
  if (!mine)
    return mine.error();
  if (auto opened = x->open_http(); !opened)
    return opened.error();
  if (auto opened = x->open_service(agent.workers.grace_period); !opened)
    return opened.error();
  if (job.rendezvous)
    x->start_guardian();
  if (auto opened = x->open_logs(agent); !opened)
    return opened.error();
  if (auto opened = x->open_timers(agent); !opened)
    return opened.error();
  if (auto opened = x->open_devices(agent); !opened)
    return opened.error();
  if (auto hosted = x->open_coordinator(std::move(*mine), &agent); !hosted)
    return hosted.error();
  if (auto spawned = x->spawn_agent(agent); !spawned)
    return spawned.error();
  x->agent_watch
    = actor_watch{x->agent, [y = x.get()](const std::string& why) {
                    y->actor_died(core::actor_died::role::agent, why);
                  }};
  x->open_operator_socket();
  x->warn_of_lacks();
  x->serve_http();
  x->report_ready();
  return std::unique_ptr<launcher>{new launcher{std::move(x)}};
}

result<std::unique_ptr<launcher>>
launcher::start_coordinator(caf::actor_system& system, const job_options& job,
                            launcher_hooks hooks) {
  assert(job.rendezvous);
  if (auto valid = validate(job); !valid)
    return valid.error();
  if (!knows_wire_types(system))
    return not_configured();
  auto x = std::make_unique<members>(system, job, std::move(hooks), false);
  auto mine = load_credentials(job);
  if (!mine)
    return mine.error();
  if (auto opened = x->open_http(); !opened)
    return opened.error();
  if (auto opened = x->open_service({}); !opened)
    return opened.error();
  x->start_guardian();
  if (auto opened = x->open_coordinator(std::move(*mine), nullptr); !opened)
    return opened.error();
  if (x->coordinator->is_hosted()) // Else it opens its own while it leads.
    x->open_operator_socket();
  x->warn_of_lacks();
  x->serve_http();
  x->report_ready();
  return std::unique_ptr<launcher>{new launcher{std::move(x)}};
}

void launcher::observe(job_observer_actor who) {
  assert(who && members_->agent);
  tell_anonymously(members_->agent, std::move(who));
}

caf::actor_addr launcher::agent() const {
  return members_->agent ? members_->agent->address() : caf::actor_addr{};
}

caf::actor_addr launcher::coordinator() const {
  const auto x = members_->coordinator->actor();
  return x ? x->address() : caf::actor_addr{};
}

timer_server_actor launcher::timers() const {
  return members_->timers ? members_->timers->server() : timer_server_actor{};
}

void launcher::leave(int signal) {
  members_->report_stopping(
    formatted("stops its workers on {}", core::signal_name(signal)));
  members_->handle(core::signal_received{signal});
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
    tell_anonymously(members_->agent, notify_group{signal});
}

void launcher::announce_limit(std::chrono::seconds left) {
  if (members_->agent)
    tell_anonymously(members_->agent, core::limit_near{left});
}

bool launcher::awaits_console() const {
  return members_->end.awaits_console();
}

core::ending launcher::wait() {
  return members_->end.wait();
}

std::string launcher::log_folder() const {
  return members_->logs ? members_->logs->folder() : std::string{};
}

std::vector<std::string> launcher::binding_report() const {
  return members_->devices ? members_->devices->report()
                           : std::vector<std::string>{};
}

} // namespace actorrun
