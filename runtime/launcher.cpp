#include "runtime/launcher.hpp"

#include "runtime/launcher/members.hpp"
#include "runtime/network/caf_links.hpp"

#include <caf/actor_system_config.hpp>
#include <caf/io/middleman.hpp>
#include <caf/scoped_actor.hpp>

#include <cassert>

namespace actorrun {

using namespace detail;

void configure(caf::actor_system_config& config) {
  register_wire_types(config);
  config.load<caf::io::middleman>();
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
  if (parts_->etcd)
    parts_->etcd->stop();
  parts_->timers.reset();
  parts_->logs.reset();
}

result<std::unique_ptr<launcher>> launcher::start(caf::actor_system& system,
                                                  const job_options& job,
                                                  const agent_options& agent,
                                                  launcher_hooks hooks) {
  if (auto valid = validate(job, agent); !valid)
    return valid.error();
  harden(system);
  auto x = std::make_unique<parts>(system, job, std::move(hooks));
  if (auto opened = x->open_logs(agent); !opened)
    return opened.error();
  if (auto opened = x->open_timers(agent); !opened)
    return opened.error();
  if (auto opened = x->open_devices(agent); !opened)
    return opened.error();
  if (auto hosted = x->maybe_host_coordinator(agent); !hosted)
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
  if (job.backend == rendezvous_backend::etcd) {
    if (auto opened = x->open_etcd({}, true); !opened)
      return opened.error();
    return std::unique_ptr<launcher>{new launcher{std::move(x)}};
  }
  if (auto hosted = x->host_coordinator(true); !hosted)
    return hosted.error();
  x->open_operator_door();
  return std::unique_ptr<launcher>{new launcher{std::move(x)}};
}

node_agent_actor launcher::agent() const {
  return parts_->agent;
}

rendezvous_coordinator_actor launcher::coordinator() const {
  return parts_->etcd ? parts_->etcd->coordinator() : parts_->coordinator;
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

std::vector<std::string> launcher::binding_report() const {
  return parts_->devices ? parts_->devices->report()
                         : std::vector<std::string>{};
}

} // namespace actorrun
