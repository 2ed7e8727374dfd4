// Reads the lines that a launcher shows, and counts errors in them.
#pragma once

#include "runtime/os/unique_fd.hpp"
#include "tests/bench/line_format.hpp"
#include "tests/bench/moment.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace actorrun::bench {

/// The result for the lines of several workers.
struct line_account {
  uint64_t whole = 0;     ///< Lines that are unchanged.
  uint64_t torn = 0;      ///< Other lines.
  uint64_t lost = 0;      ///< Lines that are not among the whole ones.
  uint64_t misplaced = 0; ///< Whole, but after a later one of their worker.
  double seconds = 0;     ///< From the first line to the last.

  uint64_t wrong() const { return torn + lost + misplaced; }

  /// Labels are ignored.
  double megabytes_per_second() const {
    return double(whole * line_size) / 1e6 / seconds;
  }
};

struct shown_text {
  std::string text;
  int64_t last = 0; ///< Time of the last byte, as in `stamp_now`.
};

/// A pipe that replaces the console.
class line_checker {
public:
  static result<line_checker> open(size_t worker_count);

  /// The launcher's end; close it afterwards, or reading does not end.
  int writing_end() const { return writing_.get(); }
  void close_writing_end() { writing_.reset(); }

  /// Reads until that many lines have been shown, which are not counted.
  result<void> await_lines(size_t count);

  /// Reads to the end.
  /// @param line_count Lines of each worker.
  /// @param on_part    Called from time to time with the number of lines so
  /// far.
  result<line_account> read(uint64_t line_count,
                            const std::function<void(uint64_t)>& on_part = {});

  /// Reads other output than that of `line_writer` to the end.
  result<shown_text> read_text();

private:
  line_checker(detail::unique_fd reading, detail::unique_fd writing,
               size_t worker_count)
    : reading_(std::move(reading)), writing_(std::move(writing)),
      next_(worker_count) {}

  void look_at(std::string_view line);

  detail::unique_fd reading_;
  detail::unique_fd writing_;
  std::vector<uint64_t> next_; ///< By rank.
  line_account account_;
};

} // namespace actorrun::bench
