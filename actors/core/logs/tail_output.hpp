// Schedules the streams of one output of the console, and batches their lines.
#pragma once

#include "actors/core/logs/line_folder.hpp"
#include "actors/core/logs/tail_schedule.hpp"
#include "actors/core/logs/tail_streams.hpp"
#include "actors/core/time.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace actorrun::core {

/// How often files are looked at that are not shown, while they grow.
inline constexpr auto watch_limits
  = poll_limits{.shortest = std::chrono::milliseconds{100},
                .longest = std::chrono::milliseconds{1'000},
                .little = 1024 * 1024};

/// Takes bytes of its streams and makes batches of lines. While a batch waits
/// for the console, no stream has its turn.
class tail_output {
public:
  /// @param folds   Whether equal lines of several ranks become one.
  /// @param filters What `filtered()` lines contain.
  tail_output(tail_kind kind, bool folds, std::vector<std::string> filters);

  /// One that is not shown is not looked at before `watch_limits` says so: few
  /// workers that end at once are worth it.
  void add(const tail_stream& x, time_point now);
  /// @pre it was added
  void remove(const tail_stream& x);

  /// A request waits for the stream's bytes up to `end`.
  void expect(tail_stream& x, uint64_t end, time_point now);

  /// The same, and its last line will not be completed.
  void expect_end(tail_stream& x, uint64_t end, time_point now);

  /// Turns bytes that were read at `cursor.next()` into lines.
  /// @returns whether some are left, from `cursor.begin()` on
  bool feed(tail_stream& x, std::string_view bytes, time_point now);

  /// Adds lines to the batch that have waited for others long enough.
  /// @returns false if not all of them have room in it
  bool show(time_point now);

  /// Whether all that a request waits for was in a batch that was taken.
  bool is_shown(const tail_stream& x) const;

  // -- the batch --------------------------------------------------------------

  /// Whole lines, to be offered to the console.
  std::string_view batch() const { return batch_; }
  void batch_taken();
  void batch_refused() { is_blocked_ = true; }
  /// Offering is worth another try.
  void unblock() { is_blocked_ = false; }
  bool is_blocked() const { return is_blocked_; }

  /// Lines that contain a filter.
  std::string_view filtered() const { return filtered_; }
  void filtered_taken();

  // -- the turn -------------------------------------------------------

  tail_schedule& schedule() { return schedule_; }

  /// Whether a stream has its turn.
  bool is_ready(time_point now) const;

  /// When something is due; none while the output is blocked.
  std::optional<time_point> due() const;

private:
  tail_schedule schedule_;
  std::optional<line_folder> folder_;
  std::vector<std::string> filters_;
  std::string batch_;
  std::string filtered_;
  bool is_blocked_ = false;
};

} // namespace actorrun::core
