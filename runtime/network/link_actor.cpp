#include "runtime/network/link_actor.hpp"

namespace actorrun::detail {

void register_link_types() {
  ACTORRUN_REGISTER_LOCAL_TYPES(actorrun_links);
}

} // namespace actorrun::detail
