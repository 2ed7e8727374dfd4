// Tells people what follows when an agent has lost its coordinator, and what helps.
#pragma once

#include "actors/core/time.hpp"
#include "messages/result.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace actorrun::core {

/// A shorter time without a coordinator is not worth a line: it may move.
inline constexpr auto loss_pause = std::chrono::milliseconds{250};

/// Where the next coordinator of a job comes from.
struct coordinator_source {
  enum class kind : uint8_t {
    endpoint, ///< The node that the endpoint names.
    ranked,   ///< The node with rank 0.
    registry, ///< etcd elects one.
    voters,   ///< The agents elect one, if enough of them vote.
  };

  kind from = kind::endpoint;
  std::string endpoint{};   ///< Where nodes look for the job: `n1:29400`.
  uint32_t voter_count = 0; ///< As the last coordinator has told.
};

/// An agent that had a coordinator has none.
struct coordinator_loss {
  std::optional<failure>
    why{}; ///< Of the last attempt to find it, if one ended.
  time_point since{};
  time_point until{}; ///< The agent gives up then.
  /// Its workers may run until then; none: it has no workers.
  std::optional<time_point> workers_until{};
};

/// Whether people are to learn of it now. It is worth one line.
bool is_to_be_told(const coordinator_loss& x, time_point now);

/// That line: what has happened, how long workers and agent wait, and what helps.
std::string text_of(const coordinator_loss& x, const coordinator_source& next,
                    time_point now);

/// What a status says that the agent waits for.
std::string wait_for(const coordinator_source& next);

} // namespace actorrun::core
