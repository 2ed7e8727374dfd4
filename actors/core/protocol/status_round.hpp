// Decides which agents are asked how they are doing, and when the wait for their
// answers is over.
#pragma once

#include "actors/core/time.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>

namespace actorrun::core {

/// One round of questions after the other. All requests during a round wait for
/// its end, and those shortly after it need no new one.
class status_round {
public:
  /// Longest wait for answers: less than operators wait for us. For slower
  /// agents the last answer is shown.
  static constexpr auto timeout = std::chrono::milliseconds{500};

  /// So long after a round its answers are new enough …
  static constexpr auto fresh = std::chrono::milliseconds{500};

  /// … or this for each worker, if that is longer: looking at a worker takes its
  /// node's CPU a tenth of a millisecond, and all of it shall stay below 1 %.
  static constexpr auto fresh_per_worker = std::chrono::milliseconds{10};
  static constexpr auto fresh_max = std::chrono::milliseconds{5'000};

  /// At most this many agents are asked in one round: those whose turn is the longest
  /// ago. More at a time would hold up what the coordinator has to say to them.
  static constexpr size_t asked_max = 256;

  bool is_open() const { return is_open_; }

  /// Whether the last round is so recent that no new one is needed.
  bool is_fresh(time_point now, uint32_t worker_count = 0) const {
    const auto length = std::clamp<std::chrono::milliseconds>(
      fresh_per_worker * worker_count, fresh, fresh_max);
    return !is_open_ && ended_ && now - *ended_ < length;
  }

  /// Begins a round.
  /// @param agents Those that can be asked, and in which round they were asked last;
  ///               0: in none.
  /// @returns those to ask; the round is over if there are none
  /// @pre no round is open
  std::set<agent_id> begin(const std::map<agent_id, uint64_t>& agents,
                           time_point now);

  /// Names the round in messages; 0: there was none.
  uint64_t number() const { return number_; }

  // Each of the following ends the round if nothing is left to wait for.

  /// An agent has answered in this round, for the first time or again.
  void answered(const agent_id& agent, uint64_t number, time_point now);

  /// An agent cannot answer any more.
  void lost(const agent_id& agent, time_point now);

  /// The timeout of a round has passed.
  void expired(uint64_t number, time_point now);

private:
  void settle(time_point now);

  std::set<agent_id> awaited_{};
  std::optional<time_point> ended_{}; ///< The last round; none: there was none.
  uint64_t number_ = 0;
  bool is_open_ = false;
};

} // namespace actorrun::core
