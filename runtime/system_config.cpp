#include "runtime/system_config.hpp"

#include "actors/message_types.hpp"
#include "messages/caf.hpp"
#include "runtime/etcd/leadership.hpp"
#include "runtime/launcher.hpp"
#include "runtime/launcher/hosting.hpp"
#include "runtime/launcher/loop_scheduler.hpp"
#include "runtime/network/link_actor.hpp"
#include "runtime/succession/leadership.hpp"

#if ACTORRUN_CAF_017
#include <caf/atom.hpp>
#endif
#include <google/protobuf/stubs/logging.h>

namespace actorrun {

namespace {

// Decisions take microseconds; more threads would only cost memory, and CAF's
// default is one per core.
constexpr auto scheduler_threads = size_t{2};

void register_types(caf::actor_system_config& config) {
  register_message_types(config);
  detail::register_leadership_types();
  detail::register_succession_types();
  detail::register_link_types();
}

} // namespace

void configure(caf::actor_system_config& config) {
  register_types(config);
}

actor_place place_of_actors(job_options& job, const agent_options& agent) {
  if (!job.rendezvous)
    return actor_place::reactor;
  // Which of several seeds it is, is found out again: the names may change hosts.
  if (!job.more_seeds.empty())
    return detail::own_seed_of(job, agent) ? actor_place::threads
                                           : actor_place::reactor;
  if (detail::may_host_coordinator(job, agent))
    return actor_place::threads;
  job.place = coordinator_place::elsewhere; // It need not be found out again.
  return actor_place::reactor;
}

system_config::system_config(actor_place where) {
  // Protobuf would print a line for each text of a peer that is not UTF-8.
  google::protobuf::SetLogHandler(nullptr);
  register_types(*this);
  if (where == actor_place::reactor)
    detail::loop_scheduler::install(*this);
#if ACTORRUN_CAF_017
  // `stealing`, the default, wakes up 400 times a second to find nothing.
  set("scheduler.policy", caf::atom("sharing"));
  set("scheduler.max-threads", scheduler_threads);
#else
  set("caf.scheduler.policy", "sharing");
  set("caf.scheduler.max-threads", scheduler_threads);
#endif
}

} // namespace actorrun
