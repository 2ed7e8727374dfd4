// Ports that nobody reserves: they count up.
#pragma once

#include "actorrun/actors/ports/master_ports.hpp"

namespace actorrun::test {

class fake_master_ports final : public ports::master_ports {
public:
  uint16_t next() override { return ++last_; }

private:
  uint16_t last_ = 29'500;
};

} // namespace actorrun::test
