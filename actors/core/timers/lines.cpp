#include "actors/core/timers/lines.hpp"

#include <algorithm>

namespace actorrun::core {

namespace {

// So many braces from the end are tried as the beginning of a request. One is
// enough for those that have none in their scope; trying all would let one line
// cost as much as thousands.
constexpr int beginnings_max = 4;

std::string_view end_of_line(std::string_view text) {
  return text.substr(text.size() - std::min(text.size(), timer_line_max));
}

} // namespace

std::optional<timer_line> timer_lines::next(std::string_view& bytes) {
  if (is_given_) {
    held_.clear();
    is_cut_ = is_given_ = false;
  }
  const auto end = bytes.find('\n');
  const auto piece = bytes.substr(0, end);
  if (end == bytes.npos) {
    bytes = {};
    hold(piece);
    return std::nullopt;
  }
  bytes.remove_prefix(end + 1);
  if (held_.empty())
    return timer_line{.text = end_of_line(piece),
                      .is_cut = piece.size() > timer_line_max};
  hold(piece);
  is_given_ = true;
  return timer_line{.text = end_of_line(held_),
                    .is_cut = is_cut_ || held_.size() > timer_line_max};
}

// Twice the size that is needed: so the bytes move once per line at most,
// however small the pieces are.
void timer_lines::hold(std::string_view bytes) {
  if (held_.size() + bytes.size() > 2 * timer_line_max) {
    is_cut_ = true;
    held_.erase(0, held_.size() - std::min(held_.size(), timer_line_max));
    bytes = end_of_line(bytes);
  }
  held_ += bytes;
}

bool timer_lines::finish() {
  const auto is_torn = !held_.empty() && !is_given_;
  held_.clear();
  is_cut_ = is_given_ = false;
  return is_torn;
}

bool timer_reader::next(std::string_view& bytes, timer_request& out) {
  while (const auto line = lines_.next(bytes))
    if (parse(*line, out)) {
      ++counts_.requests;
      return true;
    }
  return false;
}

void timer_reader::finish() {
  counts_.torn += lines_.finish();
}

bool timer_reader::parse(const timer_line& line, timer_request& out) {
  const auto fault = parse_timer_request(line.text, out);
  if (!fault && !line.is_cut)
    return true;
  count(line.is_cut ? timer_fault{timer_fault::kind::too_long, timer_line_max}
                    : *fault);
  return !fault || parse_end(line.text, out);
}

bool timer_reader::parse_end(std::string_view line, timer_request& out) {
  auto begin = line.size();
  for (int i = 0; i < beginnings_max && begin > 0; ++i) {
    begin = line.rfind('{', begin - 1);
    if (begin == line.npos)
      return false;
    if (!parse_timer_request(line.substr(begin), out))
      return true;
  }
  return false;
}

void timer_reader::count(const timer_fault& fault) {
  last_fault_ = fault;
  if (fault.what == timer_fault::kind::too_long)
    ++counts_.oversized;
  else if (fault.what == timer_fault::kind::not_text)
    ++counts_.binary;
  else
    ++counts_.malformed;
}

} // namespace actorrun::core
