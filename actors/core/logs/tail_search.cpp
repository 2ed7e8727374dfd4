#include "actors/core/logs/tail_search.hpp"

#include "actors/core/logs/line_splitter.hpp"
#include "actors/core/logs/log_selection.hpp"

#include <algorithm>
#include <utility>

namespace actorrun::core {

tail_search::tail_search(uint64_t begin, uint64_t end, uint32_t line_count,
                         filter counts)
  : begin_(begin), at_(std::max(begin, end)), found_(at_), missing_(line_count),
    counts_(std::move(counts)) {}

std::optional<tail_search::block> tail_search::next() const {
  if (missing_ == 0 || at_ == begin_)
    return std::nullopt;
  // Blocks begin at multiples, so that the disk reads each of its own once.
  const auto offset = std::max(begin_, (at_ - 1) / block_size * block_size);
  return block{offset, static_cast<size_t>(at_ - offset)};
}

void tail_search::take(std::string_view bytes) {
  const auto wanted = next();
  if (!wanted || bytes.size() < wanted->size) {
    missing_ = 0;
    return;
  }
  auto rest = bytes.substr(0, wanted->size);
  // The line end at the very end ends the last line, and begins none.
  if (!std::exchange(has_seen_any_, true) && rest.ends_with('\n'))
    rest.remove_suffix(1);
  for (auto i = rest.rfind('\n'); i != rest.npos; i = rest.rfind('\n')) {
    if (note_line(wanted->offset + i + 1, rest.substr(i + 1)))
      return;
    rest = rest.substr(0, i);
  }
  at_ = wanted->offset;
  if (at_ == begin_) {
    note_line(begin_, rest);
    return;
  }
  if (!counts_)
    return;
  auto front = std::string{rest.substr(0, log_line_max)};
  front += std::string_view{carry_}.substr(0, log_line_max - front.size());
  carry_ = std::move(front);
}

/// @returns whether all lines are found
bool tail_search::note_line(uint64_t begin, std::string_view front) {
  if (counts_) {
    auto line = std::string{front.substr(0, log_line_max)};
    line += std::string_view{carry_}.substr(0, log_line_max - line.size());
    carry_.clear();
    if (!counts_(last_state(line)))
      return false;
  }
  found_ = begin;
  return --missing_ == 0;
}

} // namespace actorrun::core
