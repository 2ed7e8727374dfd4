// Simulates what the workers of a node say of their saves. It rolls no dice: histories
// are what they are without it.
#pragma once

#include "actors/core/generation.hpp"
#include "actors/core/stragglers/node_saves.hpp"

#include <optional>

namespace actorrun::sim {

/// Rank 0 saves again and again, like some others; some of those lie.
class saving_workers {
public:
  void begin(const core::placement& own, generation_id generation,
             core::time_point now);

  std::optional<core::saves_report> look(core::time_point now);

private:
  core::step_reading page_of(uint32_t rank, core::time_point now) const;

  core::node_saves saves_;
  core::placement own_{};
  generation_id generation_{};
  core::time_point begun_{};
};

} // namespace actorrun::sim
