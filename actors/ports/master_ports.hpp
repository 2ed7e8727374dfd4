// What an agent needs to offer a MASTER_PORT: one that nobody else will take.
#pragma once

#include <cstdint>

namespace actorrun::ports {

class master_ports {
public:
  virtual ~master_ports() = default;

  /// Reserves another port on this host and returns it; 0 if there is none.
  /// The one before stays reserved until the next call: its workers may run.
  virtual uint16_t next() = 0;
};

} // namespace actorrun::ports
