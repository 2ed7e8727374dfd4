#include "messages/type_ids.hpp"

#if !ACTORRUN_CAF_017
#include <caf/init_global_meta_objects.hpp>
#endif

namespace actorrun {

void register_wire_types(caf::actor_system_config& config) {
#if ACTORRUN_CAF_017
  config.add_message_types<caf::id_block::actorrun>();
#else
  (void)config;
  caf::init_global_meta_objects<caf::id_block::actorrun>();
#endif
}

} // namespace actorrun
