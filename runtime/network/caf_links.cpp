#include "runtime/network/caf_links.hpp"

#include "messages/caf.hpp"
#include "runtime/network/frame_dialect.hpp"
#include "runtime/network/late_network.hpp"
#include "runtime/network/link_scribe.hpp"

#include <caf/event_based_actor.hpp>
#include <caf/io/abstract_broker.hpp>
#include <caf/io/basp_broker.hpp>
#include <caf/io/middleman.hpp>
#include <caf/io/network/multiplexer.hpp>
#include <caf/make_counted.hpp>

#include <memory>
#include <set>
#include <string>

namespace actorrun::detail {

namespace {

caf::actor broker_of(caf::actor_system& system) {
#if ACTORRUN_CAF_1
  const auto name = std::string{"BASP"};
#else
  const auto name = caf::atom("BASP");
#endif
  return network_of(system).named_broker<caf::io::basp_broker>(name);
}

// What a broker writes to a connection that has just closed goes into a buffer that
// it never empties: some 80 bytes for each actor that a closing link has named.
void forget_lost_writes(caf::actor_system& system) {
  network_of(system).backend().post([broker = broker_of(system)] {
    auto* self = dynamic_cast<caf::io::abstract_broker*>(
      caf::actor_cast<caf::abstract_actor*>(broker));
    if (self != nullptr)
      self->wr_buf(caf::io::connection_handle{}) = {};
  });
}

// Goes into a message at once: then it ends on the network's thread, as it must.
caf::io::scribe_ptr scribe_of(caf::actor_system& system, pipe_end link) {
  return caf::make_counted<link_scribe>(network_of(system).backend(),
                                        std::move(link));
}

// CAF registers published actors under ports. Ours have none, so their ids are
// used.
uint16_t file_number(const caf::strong_actor_ptr& actor) {
  return static_cast<uint16_t>(actor->id() % 65'535 + 1);
}

using callback = std::function<void(result<caf::strong_actor_ptr>)>;

caf::behavior ask_broker(caf::event_based_actor* self, caf::actor broker,
                         const std::shared_ptr<pipe_end>& link,
                         core::duration limit,
                         const std::shared_ptr<callback>& on_actor) {
  ask(self, broker, limit, caf::connect_atom_v,
      scribe_of(self->system(), std::move(*link)), uint16_t{1})
    .then(
      [=](const caf::node_id&, const caf::strong_actor_ptr& actor,
          const std::set<std::string>&) {
        if (actor)
          (*on_actor)(actor);
        else
          (*on_actor)(
            failure{errc::not_actorrun, "the other side offers no actor"});
      },
      [=](const caf::error& why) {
        (*on_actor)(failure{why == caf::sec::request_timeout
                              ? errc::connection_timed_out
                              : errc::not_actorrun,
                            "the other side closed the connection: "
                              + to_text(self->system(), why)});
      });
  return {};
}

} // namespace

std::string node_name(caf::actor_system& system) {
  return wire_name(system.node());
}

void serve(caf::actor_system& system, pipe_end link,
           const caf::strong_actor_ptr& actor) {
  forget_lost_writes(system);
  tell_anonymously(broker_of(system), caf::publish_atom_v,
                   scribe_of(system, std::move(link)), file_number(actor),
                   actor, std::set<std::string>{});
}

void attach(caf::actor_system& system, pipe_end link, core::duration limit,
            callback on_actor) {
  forget_lost_writes(system);
  system.spawn(ask_broker, broker_of(system),
               std::make_shared<pipe_end>(std::move(link)), limit,
               std::make_shared<callback>(std::move(on_actor)));
}

} // namespace actorrun::detail
