// Decides for one node since when none of its workers has shown a sign of life.
#pragma once

#include "actors/core/time.hpp"
#include "messages/ids.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace actorrun::core {

/// When workers count as hung, and what follows.
struct hang_limits {
  duration timeout{0}; ///< Without a sign of life; 0: never, unless it learns.
  bool ends = true; ///< The worker that hangs is ended; else it is only told.
  /// The time-out follows from how long the steps of this node's workers have taken:
  /// `learned_factor` times the longest, `learned_timeout_min` at least.
  bool learns = false;

  friend bool operator==(const hang_limits&, const hang_limits&) = default;
};

inline constexpr auto learned_factor = 10;
inline constexpr auto learned_timeout_min = std::chrono::seconds{60};

/// After so long without a step a person is told that there is nothing to learn from.
inline constexpr auto learning_time_max = std::chrono::minutes{10};

/// As long as nothing follows from a silence or a hang, it is said again after this.
inline duration repeat_pause(duration limit) {
  return std::max<duration>(limit, std::chrono::seconds{10});
}

/// What shows that a worker which runs lives.
struct worker_signs {
  uint32_t local_rank = 0;
  /// Bytes in its log files, which grow; none: it has none that can be read.
  std::optional<uint64_t> output_size{};
  /// Its last request to the timer server; none: it has made none.
  std::optional<time_point> last_request{};
  /// Its steps since it began to say how long they take; none: it does not say it.
  std::optional<uint64_t> step_count{};
};

/// What a node says of its workers.
struct silence_report {
  generation_id generation;
  /// Since the last sign; 0: there was one not long ago.
  duration silent_for{0};
  /// A sign would be seen of each worker that runs: it has log files, has used
  /// timers, or counts its steps. Otherwise it is not known whether the node is silent.
  bool can_tell = false;
  hang_limits limits{}; ///< With the time-out that has been learned.

  friend bool operator==(const silence_report&, const silence_report&)
    = default;
};

/// Any sign of any worker counts for all of the node: who takes part in collective
/// operations stands still when one does, and often one alone writes. What is not
/// known counts as a sign.
class node_silence {
public:
  /// @pre `limits.timeout > 0`, or it learns
  explicit node_silence(const hang_limits& limits) : limits_(limits) {}

  /// How often to look.
  duration interval() const;

  /// All workers of a generation have been started.
  void begin(generation_id generation, time_point now);

  /// Its workers are to end, or have ended.
  void end() { generation_ = {}; }

  bool is_watching() const { return generation_.value != 0; }

  /// As far as the last look has shown.
  bool is_silent() const { return is_silent_; }

  /// It is to learn, and has had nothing to learn from for long: no worker has made a
  /// step, or used a timer.
  bool learns_nothing(time_point now) const {
    return is_watching() && limits_.learns && !newest_beat_
           && now - begun_ >= learning_time_max;
  }

  /// Another coordinator, or one that was out of touch, is told how it is.
  void forget_report() { told_.reset(); }

  /// @param running Workers that have not ended.
  /// @param now     Never decreases between calls.
  /// @returns what is to be told: each silence, again and again, and its end
  std::optional<silence_report> step(const std::vector<worker_signs>& running,
                                     time_point now);

private:
  struct report {
    bool is_silent = false;
    time_point when{};
  };

  bool see(const worker_signs& x);
  void note_beat(time_point when);
  void learn();

  hang_limits limits_;
  generation_id generation_{};            ///< 0: none is watched.
  std::map<uint32_t, worker_signs> seen_; ///< By local rank.
  time_point begun_{};
  time_point last_sign_{};
  time_point last_look_{};
  bool is_silent_ = false;
  std::optional<report> told_; ///< None: the coordinator knows nothing.
  /// When a worker has last made a step or used a timer, in this generation, …
  std::optional<time_point> last_beat_;
  std::optional<time_point>
    newest_beat_; ///< … and as the look finds that goes on.
};

} // namespace actorrun::core
