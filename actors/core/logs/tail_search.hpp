// Finds where the last lines of a file begin, without reading what is before them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace actorrun::core {

/// Reads backwards, in blocks: the owner reads what `next` says, and gives it to
/// `take`, until there is no next.
class tail_search {
public:
  /// Bytes of a block, but of the first one of a file.
  static constexpr size_t block_size = 64 * 1024;

  /// Whether a line counts; the beginning of a long one decides.
  using filter = std::function<bool(std::string_view line)>;

  struct block {
    uint64_t offset = 0;
    size_t size = 0;
  };

  /// @param begin, end  Of the bytes; what follows the last line end is a line.
  /// @param line_count  How many lines to find.
  /// @param counts      Empty: all lines count.
  tail_search(uint64_t begin, uint64_t end, uint32_t line_count,
              filter counts = {});

  /// The block before the last one; none: all lines are found, or there are fewer.
  std::optional<block> next() const;

  /// @param bytes Of the whole block. Fewer: the file has become shorter, and the
  ///              search ends.
  void take(std::string_view bytes);

  /// Where the first of the lines begins. @pre there is no `next`
  uint64_t result() const { return found_; }

private:
  bool note_line(uint64_t begin, std::string_view front);

  uint64_t begin_;
  uint64_t at_;    ///< All from here on was looked at.
  uint64_t found_; ///< The lines that count begin here, as far as known.
  uint32_t missing_;
  filter counts_;
  std::string carry_{}; ///< The beginning of the line at `at_`, bounded.
  bool has_seen_any_ = false;
};

} // namespace actorrun::core
