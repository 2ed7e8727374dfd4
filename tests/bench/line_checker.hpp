// Reads what a launcher shows of lines, and counts what is wrong with it.
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

/// What has come of the lines of several workers.
struct line_account {
  uint64_t whole = 0;     ///< Lines that are as they were written.
  uint64_t torn = 0;      ///< Others.
  uint64_t lost = 0;      ///< Not among the whole ones.
  uint64_t misplaced = 0; ///< Whole, but after a later one of their worker.
  double seconds = 0;     ///< From the first line to the last.

  uint64_t wrong() const { return torn + lost + misplaced; }

  /// Labels do not count.
  double megabytes_per_second() const {
    return double(whole * line_size) / 1e6 / seconds;
  }
};

struct shown_text {
  std::string text;
  int64_t last = 0; ///< When the last byte came; as `stamp_now`.
};

/// A pipe that takes the place of the console.
class line_checker {
public:
  static result<line_checker> open(size_t worker_count);

  /// For the launcher; close it afterwards, or the end will not come.
  int writing_end() const { return writing_.get(); }
  void close_writing_end() { writing_.reset(); }

  /// Reads to the end.
  /// @param line_count Of each worker.
  /// @param on_part    Called now and then with the count of lines so far.
  result<line_account> read(uint64_t line_count,
                            const std::function<void(uint64_t)>& on_part = {});

  /// Reads to the end what is not of `line_writer`.
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
