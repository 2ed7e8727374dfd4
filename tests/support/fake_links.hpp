// A network that records the coordinator's requests; a test decides what the
// hosts answer.
#pragma once

#include "actors/ports/agent_links.hpp"
#include "tests/support/recorder.hpp"

#include <functional>
#include <string>
#include <utility>

namespace actorrun::test {

class fake_links final : public ports::agent_links {
public:
  void probe(const agent_id& agent, uint16_t port,
             std::function<void()> on_gone) override {
    calls_.write("probe " + agent.value + " at " + std::to_string(port));
    on_gone_ = std::move(on_gone);
  }

  void sever(const agent_id& agent) override {
    calls_.write("sever " + agent.value);
  }

  /// The calls since the last call of `told`.
  std::string told() const { return calls_.told(); }

  /// The newest probe finds a proof.
  void answer_gone() { std::exchange(on_gone_, {})(); }

private:
  recorder calls_;
  std::function<void()> on_gone_;
};

} // namespace actorrun::test
