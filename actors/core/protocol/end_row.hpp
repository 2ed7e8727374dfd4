// Counts failures in a row that are alike, and says when the group starts again.
#pragma once

#include "actors/core/protocol/restart_rules.hpp"
#include "actors/core/time.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace actorrun::core {

/// From so many on, a job goes round in a loop.
inline constexpr uint32_t loop_count_min = 3;

/// A generation that has run for so long is no part of a loop.
inline constexpr auto loop_run_max = std::chrono::minutes{10};

/// Two ends are alike if their first failures are: the same rank on the same host, in
/// the same way, with the same words. An end that the loss of a node explains is not
/// added: it neither lengthens the row nor ends it.
class end_row {
public:
  explicit end_row(const restart_rules& rules)
    : min_(rules.backoff_min), max_(rules.backoff_max) {}

  /// A failure has cost the job a restart.
  /// @param ran How long its generation existed, up to the failure.
  void add(const worker_failure& x, duration ran, time_point now);

  /// Ends alike, the last one included; 0: there was none.
  uint32_t count() const { return count_; }

  /// `5 ends alike: rank 3 on n2 exited with code 7 after 1.2 s`; empty below 2.
  std::string text() const;

  /// No generation is to begin before.
  time_point next_start() const { return next_start_; }

  /// An operator wants it at once.
  void start_now() { next_start_ = {}; }

private:
  struct likeness {
    std::string host;
    uint32_t rank = 0;
    failure_kind kind = failure_kind::exited;
    int code = 0;
    std::string
      words; ///< The first line of its message, else the last it wrote.

    friend bool operator==(const likeness&, const likeness&) = default;
  };

  static likeness likeness_of(const worker_failure& x);
  duration wait() const;

  duration min_;
  duration max_;
  std::optional<likeness> last_;
  uint32_t count_ = 0;
  std::string text_; ///< Of the last one.
  time_point next_start_{};
};

} // namespace actorrun::core
