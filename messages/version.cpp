#include "messages/version.hpp"

#include <caf/config.hpp>

namespace actorrun {

static_assert(protocol_version < 256, "link_version has one byte for it");

uint8_t caf_major() {
  return CAF_MAJOR_VERSION;
}

uint16_t link_version() {
  return static_cast<uint16_t>(caf_major() << 8U | protocol_version);
}

} // namespace actorrun
