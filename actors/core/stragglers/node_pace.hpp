// Decides for one node how long each of its workers computes per step.
#pragma once

#include "actors/core/stragglers/step_page.hpp"
#include "actors/core/stragglers/straggler.hpp"
#include "actors/core/time.hpp"
#include "messages/ids.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

namespace actorrun::core {

/// How long a worker computes per step.
struct worker_pace {
  uint32_t global_rank = 0;
  duration compute{0}; ///< The median of its last windows …
  duration least{0};   ///< … and the shortest.

  friend bool operator==(const worker_pace&, const worker_pace&) = default;
};

/// What a node says of its workers.
struct pace_report {
  generation_id generation;
  std::vector<worker_pace> workers; ///< By ascending ranks.
  straggler_limits limits{};

  friend bool operator==(const pace_report&, const pace_report&) = default;
};

/// The steps of a worker, for people.
struct worker_steps {
  uint64_t step_count = 0;
  duration compute{0}; ///< Of the last window, like the next: per step, …
  duration step{0};    ///< … with what it waits. Both 0: there was none yet.

  friend bool operator==(const worker_steps&, const worker_steps&) = default;
};

/// The steps of a worker are seen in windows. What counts of a window is the median of
/// its steps: one that saves is an exception. What counts of a worker is the median of
/// its last windows, and the shortest of them.
class node_pace {
public:
  /// A window is over after so many steps, and after this time.
  static constexpr uint64_t window_steps_min = 5;
  static constexpr auto window_time_min = std::chrono::seconds{1};

  /// A worker that has changed less than by this part of what was told of it is as it
  /// was.
  static constexpr auto change_part = 32;

  /// @pre `limits.distance > 0`, `limits.windows > 0`
  explicit node_pace(const straggler_limits& limits) : limits_(limits) {}

  /// How soon to look again: while no worker says how long it computes, after 1 s, then
  /// 2, 4, 8 and 16 s. A node at rest is woken up for something else more often.
  duration interval() const;

  /// All workers of a generation have been started.
  void begin(generation_id generation);

  /// They are to end, or have ended.
  void end() { begin({}); }

  bool is_watching() const { return generation_.value != 0; }

  /// Another coordinator, or one that was out of touch, is told how it is.
  void forget_report() { told_.clear(); }

  /// @param seen By global rank: workers that say how long they compute.
  /// @param now  Never decreases between calls.
  /// @returns what is to be told: at most once per `window_time_min`, and nothing as long
  ///          as all is as it was told last
  std::optional<pace_report> step(const std::map<uint32_t, step_reading>& seen,
                                  time_point now);

  /// @returns nothing if it does not say how long it computes
  std::optional<worker_steps> steps_of(uint32_t global_rank) const;

private:
  struct window_begin {
    uint64_t step_count = 0;
    time_point when{};
  };

  struct worker {
    std::optional<window_begin>
      begin{}; ///< None: it is seen for the first time.
    worker_steps last{};
    std::deque<duration>
      windows{}; ///< The newest last; at most `limits_.windows`.
  };

  void see(worker& x, const step_reading& seen, time_point now) const;
  std::map<uint32_t, worker_pace> paces() const;
  bool has_changed(const std::map<uint32_t, worker_pace>& paces) const;

  straggler_limits limits_;
  generation_id generation_{}; ///< 0: none is watched.
  duration idle_interval_{};
  std::map<uint32_t, worker> workers_;   ///< By global rank.
  std::map<uint32_t, worker_pace> told_; ///< The same.
  std::optional<time_point> told_at_;
};

} // namespace actorrun::core
