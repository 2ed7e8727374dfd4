// Reserves a MASTER_PORT that no other program takes, and serves the workers'
// store there.
#pragma once

#include "actors/core/generation.hpp"
#include "messages/result.hpp"

#include <cstdint>
#include <string>

namespace actorrun::ports {

class master_ports {
public:
  virtual ~master_ports() = default;

  /// Reserves another port on this host and returns it; 0 if there is none.
  /// The one before stays reserved until the next call: its workers may run.
  virtual uint16_t next() = 0;

  /// Names the address at which others reach this node; called once, before the
  /// first generation. Until then there may be no port.
  virtual void announce([[maybe_unused]] const std::string& address) {}

  /// A generation whose rank 0 is on this node begins: serves its store at the
  /// plan's address and port, and none of an older generation. Does nothing where
  /// workers serve it themselves.
  /// @retval errc::cannot_listen  the store cannot listen; the text says why
  virtual result<void>
  open([[maybe_unused]] const core::generation_plan& plan) {
    return {};
  }

  /// A generation begins whose rank 0 is on another node: serves no store.
  virtual void elsewhere([[maybe_unused]] const core::generation_plan& plan) {
    close();
  }

  /// No worker needs the store any more.
  virtual void close() {}
};

} // namespace actorrun::ports
