#include "runtime/system_config.hpp"

#include "actors/message_types.hpp"
#include "messages/caf.hpp"
#include "runtime/etcd/leadership.hpp"
#include "runtime/launcher/hosting.hpp"
#include "runtime/launcher/loop_scheduler.hpp"
#include "runtime/network/late_network.hpp"

#if ACTORRUN_CAF_017
#include <caf/atom.hpp>
#endif
#include <caf/io/middleman.hpp>
#include <google/protobuf/stubs/logging.h>

namespace actorrun {

namespace {

// Decisions take microseconds; more threads would only cost memory, and CAF's
// default is one per core.
constexpr auto scheduler_threads = size_t{2};

void register_types(caf::actor_system_config& config) {
  register_message_types(config);
  detail::register_leadership_types();
}

} // namespace

void configure(caf::actor_system_config& config) {
  register_types(config);
  config.load<caf::io::middleman>();
}

actor_place place_of_actors(job_options& job, const agent_options& agent) {
  if (!job.rendezvous)
    return actor_place::reactor;
  if (detail::may_host_coordinator(job, agent))
    return actor_place::threads;
  job.place = coordinator_place::elsewhere; // It need not be found out again.
  return actor_place::reactor;
}

system_config::system_config(actor_place where) {
  // Protobuf would print a line for each text of a peer that is not UTF-8.
  google::protobuf::SetLogHandler(nullptr);
  register_types(*this);
  detail::load_network_late(*this);
  if (where == actor_place::reactor)
    detail::loop_scheduler::install(*this);
#if ACTORRUN_CAF_017
  // `stealing`, the default, wakes up 400 times a second to find nothing.
  set("scheduler.policy", caf::atom("sharing"));
  set("scheduler.max-threads", scheduler_threads);
  // Messages of a link are decoded where they arrive: one wake-up less each.
  set("middleman.workers", size_t{0});
#else
  set("caf.scheduler.policy", "sharing");
  set("caf.scheduler.max-threads", scheduler_threads);
  set("caf.middleman.workers", size_t{0});
  // Leases show which agent has gone; CAF 1 would look for it, too.
  set("caf.middleman.heartbeat-interval", caf::timespan{0});
#endif
}

} // namespace actorrun
