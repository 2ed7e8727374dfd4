// Describes what a terminal shows: lines of styled text, and how wide text is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace actorrun::cli::top {

enum class style : uint8_t {
  plain,
  dim,
  strong,
  good,
  warning,
  bad,
  heading,
  selected, ///< Of the row where the cursor is.
  bar,      ///< Of the first and the last line.
};

struct span {
  std::string text; ///< UTF-8, printable, without line ends.
  style look = style::plain;

  friend bool operator==(const span&, const span&) = default;
};

using line = std::vector<span>;

struct size {
  size_t width = 80;
  size_t height = 24;
};

/// A duration; one of more than 35,000 years is not told from shorter ones.
std::string ms_text(uint64_t ms);

/// Columns that a text takes on a terminal. What has no known width, such as a
/// control character, takes one: `fitted` replaces it.
size_t width_of(std::string_view text);

/// A text in exactly so many columns: cut, or filled with spaces.
/// @param is_right Fill in front.
std::string fitted(std::string_view text, size_t width, bool is_right = false);

/// The same for a line. The last style goes on to the end.
line fitted(line x, size_t width);

/// The beginning of a text, in at most `width` columns; whole characters.
std::string_view beginning_of(std::string_view text, size_t width);

/// A line in as many lines as its last text needs, which begins in the same column
/// in all of them; on a narrow screen below the others.
std::vector<line> wrapped(const line& x, size_t width);

/// Without styles, and without spaces at the end.
std::string plain_text(const line& x);

} // namespace actorrun::cli::top
