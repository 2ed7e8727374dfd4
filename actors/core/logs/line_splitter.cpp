#include "actors/core/logs/line_splitter.hpp"

#include "actors/core/logs/log_selection.hpp"

#include <algorithm>
#include <utility>

namespace actorrun::core {

std::string_view last_state(std::string_view line) {
  while (line.ends_with('\r'))
    line.remove_suffix(1);
  if (const auto i = line.rfind('\r'); i != line.npos)
    line.remove_prefix(i + 1);
  line.remove_prefix(std::min(line.find_first_not_of('\0'), line.size()));
  return line;
}

void line_splitter::add(std::string piece) {
  piece_ = std::move(piece);
  begin_ = 0;
}

std::optional<split_line> line_splitter::next() {
  const auto unseen = std::string_view{piece_}.substr(begin_);
  const auto end = unseen.find('\n');
  if (end == unseen.npos) {
    absorb(unseen);
    begin_ = piece_.size();
    return std::nullopt;
  }
  begin_ += end + 1;
  const auto part = unseen.substr(0, end);
  if (open_.empty() && !is_over_ && !is_cut_) {
    const auto text = last_state(part);
    return split_line{text.substr(0, log_line_max), text.size() > log_line_max};
  }
  absorb(part);
  return take();
}

std::optional<split_line> line_splitter::rest() {
  if (open_.empty())
    return std::nullopt;
  return take();
}

void line_splitter::break_off() {
  piece_.clear();
  begin_ = 0;
  take();
}

// A state counts when something of it has come.
void line_splitter::absorb(std::string_view part) {
  for (;;) {
    const auto end = part.find('\r');
    auto text = part.substr(0, end);
    if (!text.empty() && std::exchange(is_over_, false)) {
      open_.clear();
      is_cut_ = false;
    }
    if (open_.empty())
      text.remove_prefix(std::min(text.find_first_not_of('\0'), text.size()));
    const auto room = log_line_max - open_.size();
    is_cut_ = is_cut_ || text.size() > room;
    open_ += text.substr(0, room);
    if (end == part.npos)
      return;
    is_over_ = true;
    part.remove_prefix(end + 1);
  }
}

split_line line_splitter::take() {
  given_ = std::exchange(open_, {});
  is_over_ = false;
  return {given_, std::exchange(is_cut_, false)};
}

} // namespace actorrun::core
