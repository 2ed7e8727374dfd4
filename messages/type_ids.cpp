#include "messages/type_ids.hpp"

#if ACTORRUN_CAF_017
#include <caf/type_erased_value.hpp>
#include <caf/uniform_type_info_map.hpp>

#include <string>
#else
#include <caf/detail/meta_object.hpp>
#include <caf/init_global_meta_objects.hpp>
#endif

namespace actorrun {

void register_wire_types(caf::actor_system_config& config) {
#if ACTORRUN_CAF_017
  config.add_message_types<caf::id_block::actorrun>();
#else
  (void)config;
  caf::core::init_global_meta_objects();
  caf::init_global_meta_objects<caf::id_block::actorrun>();
#endif
}

bool knows_wire_types(caf::actor_system& system) {
#if ACTORRUN_CAF_017
  const auto* const name = caf::type_name<v1::JoinRequest>::value;
  return system.types().make_value(std::string{name}) != nullptr;
#else
  (void)system;
  return caf::detail::global_meta_object_or_null(
           caf::type_id_v<v1::JoinRequest>)
         != nullptr;
#endif
}

} // namespace actorrun
