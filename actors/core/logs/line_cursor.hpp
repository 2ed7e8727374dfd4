// Splits one stream of bytes into lines. Holds no text: unfinished lines are read
// again.
#pragma once

#include "actors/core/logs/line_sink.hpp"
#include "actors/core/time.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace actorrun::core {

/// Bytes of a line that is shown whole, without its line end. A longer one is
/// shown in pieces of this size.
inline constexpr size_t line_max = 4 * 1024 * 1024;

/// Bytes read at once; more only for a line that is longer. As lines of some
/// length with their prefix it makes one `batch_max`.
inline constexpr size_t read_size = 192 * 1024;

/// An unfinished line up to this size is read again from its beginning whenever
/// the stream grows; a longer one only when its end has been seen.
inline constexpr size_t reread_max = 64 * 1024;

/// A progress bar is shown at most once in this time.
inline constexpr auto progress_interval = std::chrono::milliseconds{250};

/// Finds the lines of one stream, each once and in order.
///
/// A line ends with `\n` or `\r\n`. Any other `\r` makes it a progress bar: the
/// text up to the next `\r` is a state of it, whether the program writes the
/// `\r` before or after. The newest state that is complete is shown as a line,
/// once per `progress_interval`; so is one that has not changed for that long.
/// States in between are skipped. The last one is always shown, when the line
/// ends, unless it has been.
///
/// Offsets count the bytes ever written to the stream.
class line_cursor {
public:
  struct request {
    uint64_t offset = 0;
    size_t size = 0; ///< `read_size` .. `line_max` + 2
  };

  /// What is to be read next. If it goes back behind the request before, there
  /// is something to be read.
  request next() const;

  /// Looks at bytes that were read.
  /// @param bytes From `next().offset` on, not necessarily as many as wanted.
  /// @param now   Never decreases between calls.
  /// @param out   Gets the lines that have become complete.
  /// @returns false: all of it was looked at. True: `out` had no more room; call
  ///          again with the bytes from `begin()` on.
  /// @complexity O(N) for N bytes, however long the line.
  bool take(std::string_view bytes, time_point now, line_sink& out);

  /// What is written now will not be completed: once all bytes before `to` have been
  /// taken, a line without an end is shown as it is.
  void flush_at(uint64_t to);

  /// Gives up what is before `to`, and all that is known of the line there.
  void skip_to(uint64_t to);

  /// What was to be read cannot be: a new line begins at `reached()`.
  void break_off();

  /// All before is shown or skipped; a line or a state begins here.
  uint64_t begin() const { return begin_; }

  /// All before has been looked at.
  uint64_t reached() const { return reached_; }

  /// Whether a line without an end may still have to be shown.
  bool owes_flush() const { return flush_at_ != 0; }

  /// When `next()` should be read again although the stream has not grown.
  std::optional<time_point> due() const { return due_; }

private:
  bool put_line(std::string_view text, line_sink& out);
  void settle(std::string_view rest, time_point now, line_sink& out);
  std::string_view show_states(std::string_view rest, time_point now,
                               line_sink& out);
  void show_resting(std::string_view rest, time_point now, line_sink& out);
  void show_state(std::string_view text, time_point now, line_sink& out);
  void search(std::string_view bytes);
  void move_to(uint64_t begin);

  uint64_t begin_ = 0;
  uint64_t reached_ = 0;
  /// Not 0: there is no line end between `begin_` and this.
  uint64_t searched_ = 0;
  size_t needed_ = 0; ///< Bytes from `begin_` to a line end that was seen.
  uint64_t flush_at_ = 0;
  bool in_progress_ = false; ///< The line had a `\r` before `begin_`.
  /// Not 0: the state at `begin_` has been shown as it stood up to here.
  uint64_t shown_to_ = 0;
  time_point grown_at_{};
  time_point next_state_at_{};
  std::optional<time_point> due_;
};

} // namespace actorrun::core
