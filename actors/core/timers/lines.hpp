// Splits bytes from the timer FIFO into lines and requests.
#pragma once

#include "actors/core/timers/request.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace actorrun::core {

struct timer_line {
  std::string_view text;
  bool is_cut = false; ///< Only the last `timer_line_max` bytes of it are here.
};

/// Finds the lines in a stream that comes in pieces. Holds two lines at most.
class timer_lines {
public:
  /// Takes bytes up to the end of a line.
  /// @param bytes Loses what was taken. None is left when there is no line end
  ///              in them; then they are held until it comes.
  /// @returns a line without its end, valid until the next call and as long as
  ///          the bytes; none if it is not complete yet
  std::optional<timer_line> next(std::string_view& bytes);

  /// The stream has ended: a line without an end is discarded.
  /// @returns whether there was one
  bool finish();

private:
  void hold(std::string_view bytes);

  std::string held_; ///< The line so far, or the end of it.
  bool is_cut_ = false;
  bool is_given_ = false; ///< `held_` has been handed out.
};

/// What has come through a FIFO, in lines.
struct timer_line_counts {
  uint64_t requests = 0;
  uint64_t malformed = 0; ///< Text, but no request.
  uint64_t binary = 0;    ///< Not even text.
  uint64_t oversized = 0;
  uint64_t torn = 0; ///< Ended by the end of the stream.

  friend bool operator==(const timer_line_counts&, const timer_line_counts&)
    = default;
};

/// Turns the bytes of a FIFO into requests. What is none is counted and harms no
/// other line: not even the one behind it if its own end is missing, as when its
/// writer died within it. Then the request is found at the end of the line that
/// the two have become, and both are counted.
class timer_reader {
public:
  /// Reads up to the next request.
  /// @param bytes Loses what was read; none is left when there is no request.
  /// @returns whether `out` has a request
  bool next(std::string_view& bytes, timer_request& out);

  /// The stream has ended.
  void finish();

  const timer_line_counts& counts() const { return counts_; }

  /// What was wrong with the last line that was not a request.
  const std::optional<timer_fault>& last_fault() const { return last_fault_; }

private:
  bool parse(const timer_line& line, timer_request& out);
  bool parse_end(std::string_view line, timer_request& out);
  void count(const timer_fault& fault);

  timer_lines lines_;
  timer_line_counts counts_;
  std::optional<timer_fault> last_fault_;
};

} // namespace actorrun::core
