// Keeps one MASTER_PORT reserved for the next epoch, and that of the last.
#pragma once

#include "actors/ports/master_ports.hpp"
#include "runtime/store/master_port.hpp"

#include <optional>
#include <utility>

namespace actorrun::detail {

class reserved_ports final : public ports::master_ports {
public:
  /// @param wish The port to tell always; none: another one for every epoch.
  explicit reserved_ports(std::optional<uint16_t> wish) : wish_(wish) {}

  uint16_t next() override {
    if (wish_)
      return *wish_;
    auto fresh = reserve_master_port();
    if (!fresh)
      return 0;
    last_ = std::exchange(current_, std::move(*fresh));
    return current_->port();
  }

private:
  std::optional<uint16_t> wish_;
  std::optional<port_reservation> current_;
  std::optional<port_reservation> last_;
};

} // namespace actorrun::detail
