// The members of a launcher around the coordinator, and its end.
#include "runtime/launcher/members.hpp"

#include "messages/formatted.hpp"
#include "runtime/os/reactor.hpp"

#include <chrono>
#include <utility>
#include <variant>

#include <unistd.h>

namespace actorrun {

using namespace detail;

namespace {

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
  if (job.backend == rendezvous_backend::fixed)
    return options.node_rank == 0 ? host_as_first() : result<void>{};
  if (job.place == coordinator_place::elsewhere
      || (job.place == coordinator_place::automatic
          && !names_this_host(job.rendezvous->host)))
    return {};
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

result<void> launcher::members::host_coordinator() {
  const auto where = listen_address(job.rendezvous->host, job.rendezvous->port);
  if (!where)
    return where.error();
  coordinator = std::make_unique<hosted_coordinator>(
    system, loop, coordinator_config(), guardian);
  auto listening = coordinator->listen(job, *where, mine);
  if (listening)
    return {};
  coordinator.reset();
  return listening.error();
}

// Other nodes must learn when this process has ended.
void launcher::members::start_guardian() {
  guardian = start_warden(loop, [lines = lines] { lines.warn(warden_lost); });
  guardian->set_linger(job.timeouts.lease(), job.timeouts.seek);
}

rendezvous_coordinator_config launcher::members::coordinator_config() {
  auto out = rendezvous_coordinator_config{};
  out.job = job.job;
  out.settings = settings();
  out.limits = job.timeouts;
  out.host = host;
  out.pid = ::getpid();
  out.networked = job.rendezvous.has_value();
  out.lines = lines;
  out.on_closed
    = [this](const core::outcome& x) { handle(core::coordinator_closed{x}); };
  out.on_died = [this](const std::string& why) {
    actor_died(core::actor_died::role::coordinator, why);
  };
  return out;
}

core::job_settings launcher::members::settings() const {
  const auto may_move = job.backend == rendezvous_backend::etcd;
  return {.agent_count_min = job.agent_count_min,
          .agent_count_max = job.agent_count_max,
          .restart_count_max = job.restart_count_max,
          .ranked = job.backend == rendezvous_backend::fixed,
          .lease = may_move ? job.timeouts.lease() : core::timeouts::ms{}};
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
     .mine = mine,
     .announced = announced,
     .is_alone = alone,
     .dead = guardian,
     .configure = [this] { return coordinator_config(); },
     .on_closed
     = [this](const core::outcome& x) { handle(core::coordinator_closed{x}); },
     .on_left = [this] { handle(core::office_left{}); },
     .lines = lines});
  if (!opened)
    return opened.error();
  etcd = std::move(*opened);
  return {};
}

// -- the end ------------------------------------------------------------------

void launcher::members::agent_finished(const core::ending& how) {
  if (events)
    events->note(how);
  const auto hosts
    = etcd ? etcd->coordinator() != nullptr : coordinator != nullptr;
  handle(core::agent_finished{how, hosts});
}

void launcher::members::actor_died(core::actor_died::role which,
                                   const std::string& reason) {
  handle(core::actor_died{which, reason});
}

void launcher::members::handle(const core::node_end_event& event) {
  auto effects = std::vector<core::node_end_effect>{};
  {
    const auto guard = std::lock_guard{mutex};
    effects = end.step(event, std::chrono::steady_clock::now());
  }
  for (const auto& effect : effects)
    std::visit([this](const auto& x) { perform(x); }, effect);
}

void launcher::members::perform(const core::show_logs&) {
  logs->flush([this] { handle(core::logs_shown{}); });
}

void launcher::members::perform(const core::resign_office&) {
  if (etcd)
    etcd->resign();
}

void launcher::members::perform(const core::pass_on_signal& x) {
  if (agent)
    tell_anonymously(agent, core::leave_requested{x.signal});
  // A coordinator on its own leaves without ending the job: the next takes
  // over.
  if (agent && coordinator)
    tell_anonymously(coordinator->actor(), core::stop_requested{x.signal});
}

void launcher::members::perform(const core::end_node& x) {
  promise.set_value(x.how);
  if (hooks.on_ended)
    hooks.on_ended(x.how);
}

void launcher::members::perform(const core::arm_timer& x) {
  hurry = reactor_handle{
    *loop, std::make_shared<one_timer>(
             *loop, x.due - std::chrono::steady_clock::now(),
             [this, id = x.timer] { handle(core::timer_fired{id}); })};
}

} // namespace actorrun
