#include "actors/message_types.hpp"

#include "actors/interfaces.hpp"
#include "actors/timer_interface.hpp"
#include "actors/timer_server.hpp"
#include "messages/type_ids.hpp"

namespace actorrun {

void register_message_types(caf::actor_system_config& config) {
  register_wire_types(config);
  ACTORRUN_REGISTER_LOCAL_TYPES(actorrun_actors);
  ACTORRUN_REGISTER_LOCAL_TYPES(actorrun_observers);
  ACTORRUN_REGISTER_LOCAL_TYPES(actorrun_timers);
  ACTORRUN_REGISTER_LOCAL_TYPES(actorrun_timer_server);
}

} // namespace actorrun
