// Ports that count up and are not reserved. Records whom it serves.
#pragma once

#include "actors/ports/master_ports.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace actorrun::test {

class fake_master_ports final : public ports::master_ports {
public:
  uint16_t next() override { return ++last_; }

  void announce(const std::string& address) override {
    calls_.push_back("announce " + address);
  }

  result<void> open(const core::generation_plan& plan) override {
    calls_.push_back("open " + to_string(plan.generation) + " at "
                     + plan.master_address + ":"
                     + std::to_string(plan.master_port));
    if (refusal)
      return failure{errc::cannot_listen, *refusal};
    return {};
  }

  void close() override { calls_.push_back("close"); }

  /// Calls since the last call of `told`.
  std::vector<std::string> told() { return std::exchange(calls_, {}); }

  std::optional<std::string> refusal; ///< Why a port cannot be served.

private:
  uint16_t last_ = 29'500;
  std::vector<std::string> calls_;
};

} // namespace actorrun::test
