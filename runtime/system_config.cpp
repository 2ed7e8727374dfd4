#include "runtime/system_config.hpp"

#include "messages/caf.hpp"
#include "messages/type_ids.hpp"
#include "runtime/launcher/loop_scheduler.hpp"
#include "runtime/network/late_network.hpp"

#include <caf/atom.hpp>
#include <caf/io/middleman.hpp>
#include <google/protobuf/stubs/logging.h>

namespace actorrun {

namespace {

// Decisions take microseconds; more threads would only cost memory, and CAF's
// default is one per core.
constexpr auto scheduler_threads = size_t{2};

} // namespace

void configure(caf::actor_system_config& config) {
  register_wire_types(config);
  config.load<caf::io::middleman>();
}

system_config::system_config([[maybe_unused]] actor_place where) {
  // Protobuf would print a line for each text of a peer that is not UTF-8.
  google::protobuf::SetLogHandler(nullptr);
  register_wire_types(*this);
  detail::load_network_late(*this);
#if ACTORRUN_CAF_017
  if (where == actor_place::reactor)
    module_factories.emplace_back([](caf::actor_system& system) {
      return new detail::loop_scheduler{system};
    });
  // `stealing`, the default, wakes up 400 times a second to find nothing.
  set("scheduler.policy", caf::atom("sharing"));
  set("scheduler.max-threads", scheduler_threads);
  // Messages of a link are decoded where they arrive: one wake-up less each.
  set("middleman.workers", size_t{0});
#else
  set("caf.scheduler.policy", "sharing");
  set("caf.scheduler.max-threads", scheduler_threads);
  set("caf.middleman.workers", size_t{0});
#endif
}

} // namespace actorrun
