// Draws the live view: a model in, lines of styled text out.
#pragma once

#include "cli/top/cells.hpp"
#include "cli/top/model.hpp"

#include <optional>
#include <vector>

namespace actorrun::cli::top {

/// What a terminal can show.
struct look {
  bool unicode = true; ///< Else ASCII only.
};

struct screen {
  /// As many as the terminal has rows, each as wide as it is.
  std::vector<line> lines;
  /// Which row of the tree is on which line.
  std::vector<std::optional<row_id>> rows;
  size_t page_size = 1;  ///< Lines for rows, or of a page.
  size_t scroll_max = 0; ///< Lines of a page that it can be moved by.
  /// A message or a question is in place of rows, and these two are of it: keys are
  /// for it alone.
  bool is_covered = false;
};

/// @param space At least one row and one column; from 20x5 on it is of use.
screen view(const model& x, size space, look with = {});

/// Bars of a height that shows each value as a share of the largest one: the last
/// ones, at most `count_max`.
std::string sparkline(const std::vector<uint64_t>& values, size_t count_max,
                      look with);

// -- pages, as wide as they like ---------------------------------------------------

/// Of the row where the cursor is, or of the job.
/// @pre `x.node` is set
std::vector<line> details_of(const row& x, core::time_point now);
std::vector<line> details_of(const job_picture& x, core::time_point now,
                             look with);
std::vector<line> help_of(const model& x);

/// Since something of that age was received.
uint64_t age_now(uint64_t age_ms, const job_picture& x, core::time_point now);

} // namespace actorrun::cli::top
