// Sums up for one node how long its workers save, and what is safe.
#pragma once

#include "actors/core/stragglers/step_page.hpp"
#include "actors/core/time.hpp"
#include "messages/ids.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>

namespace actorrun::core {

/// What a node says of the saves of its workers in a generation.
struct saves_report {
  generation_id generation;
  duration saving{0}; ///< That they have spent on it, all together.
  /// How old the oldest of their last saves is, without workers that have not saved in
  /// this generation: it may be the work of one for all. None: no worker has.
  std::optional<duration> age{};
  duration saving_since{0}; ///< Of `saving`, after that save.

  friend bool operator==(const saves_report&, const saves_report&) = default;
};

/// A worker is not believed that it has saved for longer than it has run, nor in the
/// future.
class node_saves {
public:
  /// Minimum interval between two reports.
  static constexpr auto report_pause = std::chrono::seconds{1};

  /// All workers of a generation have been started.
  void begin(generation_id generation, time_point now);

  /// They are to end. What they save until then is safe; the time of it is no training
  /// any more, so it does not count.
  void stop() { is_stopping_ = true; }

  /// They have ended.
  void end() { begin({}, {}); }

  bool is_watching() const { return generation_.value != 0; }

  /// A worker of this generation has said that it saves.
  bool is_used() const { return !workers_.empty(); }

  /// Another coordinator, or one that was out of touch, is told how it is.
  void forget_report() { told_.reset(); }

  /// @param seen By global rank: workers that say something. One that is missing has
  ///             ended; what it has saved stays so.
  /// @param now  Never decreases between calls.
  /// @param is_last The workers are to end: it is told at once.
  /// @returns what is to be told: nothing as long as all is as it was told
  std::optional<saves_report> step(const std::map<uint32_t, step_reading>& seen,
                                   time_point now, bool is_last = false);

private:
  struct worker {
    duration before{0}; ///< It saved for so long in generations before.
    duration saving{0}; ///< In this one.
    std::optional<time_point> saved_up_to{};
    duration saving_by_then{0}; ///< Of `saving`, at that time.
  };

  void see(worker& x, const save_reading& seen, time_point now) const;
  saves_report sum(time_point now) const;

  generation_id generation_{}; ///< 0: none is watched.
  time_point begun_{};
  bool is_first_look_ = true;
  bool is_stopping_ = false;
  std::map<uint32_t, worker> workers_; ///< By global rank.
  std::optional<saves_report> told_;
  std::optional<time_point> told_at_;
  std::optional<time_point> told_save_; ///< The save that was told last.
};

} // namespace actorrun::core
