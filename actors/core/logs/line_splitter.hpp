// Splits the bytes of a log file into lines of bounded length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace actorrun::core {

/// Of a line that a program has written over with carriage returns, the last state
/// that is not empty. Zeros at the front, which a hole in the file reads as, are
/// left out.
std::string_view last_state(std::string_view line);

/// A line without its end, valid until the next call.
struct split_line {
  std::string_view text;
  bool truncated = false; ///< It was longer.

  friend bool operator==(const split_line&, const split_line&) = default;
};

/// Takes bytes in pieces of any size, gives lines. A line ends with `\n` or
/// `\r\n`; of one that was written over, it gives the `last_state`. Holds one
/// piece, and at most `log_line_max` bytes of an unfinished line.
class line_splitter {
public:
  /// @pre `next` has returned none
  void add(std::string piece);

  /// The next whole line.
  std::optional<split_line> next();

  /// What is left of the bytes, for an end that has no line end; none: nothing.
  /// @pre `next` has returned none
  std::optional<split_line> rest();

  /// Forgets the unfinished line: what follows it was lost.
  void break_off();

private:
  void absorb(std::string_view part);
  split_line take();

  std::string piece_{};
  size_t begin_ = 0; ///< Of what was not looked at, in `piece_`.
  std::string open_{};
  std::string given_{}; ///< Backs the last line.
  bool is_cut_ = false;
  bool is_over_ = false; ///< What follows writes over `open_`.
};

} // namespace actorrun::core
