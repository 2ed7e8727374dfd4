// Lists what an agent and a worker that lives through changes tell each other
// (docs/live_workers.md).
#pragma once

#include "actors/core/time.hpp"
#include "messages/ids.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace actorrun::core {

// -- from the worker ----------------------------------------------------------

/// It can live through a change.
struct said_hello {};

/// Nothing of it belongs to that generation any more.
struct said_parked {
  uint64_t generation = 0; ///< Its number, as told; so below.
};

/// Something failed that a change may explain: a closed connection.
struct said_trouble {
  std::string text; ///< One printable line.
};

/// It has come so far, and can stop at any later step.
struct said_step {
  uint64_t step = 0;
};

/// It has been told to hold, and goes past no further safe point.
struct said_held {
  uint64_t generation = 0;
  uint64_t step = 0; ///< The first that it can still stop at.
};

/// It has stopped there and waits.
struct said_reached {
  uint64_t generation = 0;
  uint64_t step = 0;
};

/// Its connection is closed: it cannot be told anything any more.
struct hung_up {};

using worker_word = std::variant<said_hello, said_parked, said_trouble,
                                 said_step, said_held, said_reached, hung_up>;

// -- to the worker ------------------------------------------------------------

/// It takes part in this generation from now on, with these values.
struct tell_generation {
  generation_id generation;
  std::vector<std::string> environment{}; ///< `NAME=value`: what may differ.
  /// The first and last rank of each run of ranks that took part in the generation
  /// before, in order.
  std::vector<std::pair<uint32_t, uint32_t>> survivors{};
  uint32_t restart_count = 0;
  std::string reason{}; ///< Why there is a new generation; one line.
};

/// Its generation is over: it is to park within that time, or is killed.
struct tell_regroup {
  std::string reason{};
  duration time{0};
};

/// It is to say how far it is, and to wait at the next safe point until it is told
/// where to stop.
struct tell_hold {};

/// It is to go on up to this step, and to wait there for the end of its generation.
struct tell_stop_at {
  uint64_t step = 0;
};

/// The change is off: it is to go on past all safe points.
struct tell_go_on {};

/// It is to end within that time, or is killed.
struct tell_stop {
  std::string reason{};
  duration time{0};
};

using worker_order = std::variant<tell_generation, tell_regroup, tell_hold,
                                  tell_stop_at, tell_go_on, tell_stop>;

} // namespace actorrun::core
