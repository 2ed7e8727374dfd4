// The members of a launcher around the coordinator, and its end.
#include "runtime/launcher/members.hpp"

#include "messages/formatted.hpp"
#include "runtime/os/reactor.hpp"

#include <string_view>

#include <unistd.h>

namespace actorrun {

using namespace detail;

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
  out.on_closed = [this](const core::outcome& x) { coordinator_closed(x); };
  out.on_died
    = [this](const std::string& why) { actor_died("coordinator", why); };
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
     .on_closed = [this](const core::outcome& x) { coordinator_closed(x); },
     .on_left =
       [this] {
         const auto guard = std::lock_guard{mutex};
         end_if_over();
       },
     .lines = lines});
  if (!opened)
    return opened.error();
  etcd = std::move(*opened);
  return {};
}

// -- the end ------------------------------------------------------------------

void launcher::members::coordinator_closed(const core::outcome& result) {
  const auto guard = std::lock_guard{mutex};
  coordinators_ending = core::ending{.result = result, .why = {}, .signal = 0};
  end_if_over();
}

void launcher::members::agent_finished(const core::ending& how) {
  if (events)
    events->note(how);
  {
    const auto guard = std::lock_guard{mutex};
    ending = how;
  }
  // The other nodes go on without us, or need us until they know the outcome.
  if (etcd && !(how.result && etcd->coordinator()))
    etcd->resign();
  logs->flush([this] { logs_shown(); });
}

void launcher::members::logs_shown() {
  const auto guard = std::lock_guard{mutex};
  shown = true;
  end_if_over();
}

// The host of the coordinator stays until all others know the outcome.
bool launcher::members::is_protocol_over() const {
  if (etcd && !agent)
    return coordinators_ending.has_value();
  if (etcd)
    return ending && (coordinators_ending || !etcd->coordinator());
  return (!agent || ending) && (!coordinator || coordinators_ending);
}

void launcher::members::end_if_over() {
  if (over || !is_protocol_over() || (agent && !shown))
    return;
  auto how = ending ? *ending : *coordinators_ending;
  // An agent that gives up workers goes before it hears what became of the job.
  if (how.why && !how.result && coordinators_ending)
    how.result = coordinators_ending->result;
  end(how);
}

void launcher::members::end(const core::ending& how) {
  over = true;
  promise.set_value(how);
  if (hooks.on_ended)
    hooks.on_ended(how);
}

// Nobody controls the workers any more, or nobody decides for the others: this
// node ends at once, which ends its workers.
void launcher::members::actor_died(const char* which,
                                   const std::string& reason) {
  const auto lock = std::lock_guard{mutex};
  const auto is_agent = std::string_view{which} == "agent";
  if (over || (is_agent ? ending.has_value() : coordinators_ending.has_value()))
    return;
  auto why = failure{errc::system_failure,
                     formatted("the {} of this node has failed ({}); its "
                               "workers are ended",
                               which, reason)};
  lines.error(why.text);
  end({.result = {}, .why = std::move(why), .signal = 0});
}

} // namespace actorrun
