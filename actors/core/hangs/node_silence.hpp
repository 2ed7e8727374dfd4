// Decides for one node since when none of its workers has shown a sign of life.
#pragma once

#include "actors/core/time.hpp"
#include "messages/ids.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace actorrun::core {

/// When workers count as hung, and what follows.
struct hang_limits {
  duration timeout{0}; ///< Without a sign of life; 0: never.
  bool ends = true; ///< The worker that hangs is ended; else it is only told.

  friend bool operator==(const hang_limits&, const hang_limits&) = default;
};

/// What shows that a worker lives.
struct worker_signs {
  /// Bytes in its log files, which grow; none: it has none that can be read.
  std::optional<uint64_t> output_size{};
  /// Its last request to the timer server; none: it has made none.
  std::optional<time_point> last_request{};
};

/// What a node says of its workers.
struct silence_report {
  generation_id generation;
  /// Since the last sign; 0: there was one since the last report.
  duration silent_for{0};
  /// A sign would be seen: some worker has log files, or uses timers. Of others it
  /// is not known whether they live.
  bool can_tell = false;
  hang_limits limits{};

  friend bool operator==(const silence_report&, const silence_report&)
    = default;
};

/// Any sign of any worker counts for all of the node: who takes part in collective
/// operations stands still when one does, and often one alone writes.
class node_silence {
public:
  /// @pre `limits.timeout > 0`
  explicit node_silence(const hang_limits& limits) : limits_(limits) {}

  /// How often to look.
  duration interval() const;

  /// All workers of a generation have been started.
  void begin(generation_id generation, time_point now);

  /// Its workers are to end, or have ended.
  void end() { generation_ = {}; }

  bool is_watching() const { return generation_.value != 0; }

  /// Another coordinator knows nothing of the silence.
  void forget_report() { is_told_ = false; }

  /// @param now     Never decreases between calls.
  /// @param workers By local rank.
  /// @returns what is new for the coordinator: each silence, and its end
  std::optional<silence_report> step(const std::vector<worker_signs>& workers,
                                     time_point now);

private:
  hang_limits limits_;
  generation_id generation_{}; ///< 0: none is watched.
  std::vector<worker_signs> seen_;
  time_point last_sign_{};
  bool can_tell_ = false;
  bool is_told_ = false;
};

} // namespace actorrun::core
