// Decides how a witness, a voter without workers, keeps to the leader of its job, and
// which witnesses a leader counts.
#pragma once

#include "actors/core/alarm_set.hpp"
#include "actors/core/succession/succession.hpp"
#include "actors/core/succession/voter_set.hpp"

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace actorrun::core {

/// Between two questions of a witness where the leader is. They are its signs of life,
/// too, so they come as often as an agent's.
inline constexpr auto witness_pause = std::chrono::milliseconds{300};
/// A witness that a leader has not heard for so long votes no more. A lost voter costs
/// nothing while the others are a majority.
inline constexpr auto witness_lease = std::chrono::milliseconds{1'000};
/// Without an answer for so long a witness asks where the job began, too.
inline constexpr auto witness_silence_max = std::chrono::milliseconds{1'000};
/// Of more witnesses the first count: no more can vote.
inline constexpr size_t witnesses_max = voters_max;

// -- of a leader ------------------------------------------------------------------

/// The witnesses that have asked for this leader lately.
class witness_list {
public:
  /// One has asked. O(witnesses)
  /// @param endpoint Where it says that it listens, which is its host, too.
  void note(const agent_id& who, const std::string& endpoint, time_point now);

  /// Those that are here, and that are none of `agents`: what has an agent's id is no
  /// witness.
  std::vector<voter_candidate>
  beside(const std::vector<voter_candidate>& agents, time_point now) const;

  bool contains(const agent_id& who) const { return heard_.contains(who); }

private:
  struct sign {
    std::string endpoint;
    time_point at;
  };

  static bool is_here(const sign& x, time_point now) {
    return now < x.at + witness_lease;
  }

  std::map<agent_id, sign> heard_;
};

/// The candidate that a witness is.
voter_candidate witness_at(const agent_id& who, const std::string& endpoint);

// -- of a witness -------------------------------------------------------------------

struct witness_options {
  size_t seed_count = 1;
  /// It waits so long for the first answer, …
  duration first_limit{0};
  /// … and so long for each next one.
  duration limit{0};
};

struct witness_started {};

/// A leader has said that it leads, or this process does.
struct leader_confirmed {};

/// Another one leads, or soon will. It has to know this witness before it chooses voters.
struct leader_changed {};

using witness_event = std::variant<witness_started, leader_confirmed,
                                   leader_changed, timer_fired>;

/// Ask the leader for a sign, or answer with `leader_confirmed` if this process leads.
struct ask_for_leader {
  /// Ask there, and all that may know; none: only the one that has led last.
  std::optional<size_t> seed{};
};

/// Comes once, and last: no leader answers.
struct give_up_watch {
  bool has_met = false; ///< One has answered before.
};

using witness_effect = std::variant<ask_for_leader, give_up_watch, arm_timer>;

/// A witness has no link with the coordinator, which knows agents alone. So it asks
/// who leads for as long as the job lasts.
class witness {
public:
  /// @pre `seed_count` > 0
  explicit witness(witness_options options) : options_(options) {}

  /// Applies one event and returns its effects. Deterministic.
  std::vector<witness_effect> step(const witness_event& event, time_point now);

private:
  enum class alarm { ask };

  void ask(time_point now, std::vector<witness_effect>& out);

  witness_options options_;
  time_point answered_{}; ///< The last time; of none, its start.
  bool has_met_ = false;
  size_t seed_turn_ = 0; ///< The next one.
  alarm_set<alarm, 1> alarms_;
};

/// `ask_for_leader`, `ask_for_leader at seed 1`, …
std::string to_string(const witness_effect& x);

} // namespace actorrun::core
