#include "actors/core/logs/line_cursor.hpp"

#include <algorithm>
#include <cassert>

namespace actorrun::core {

namespace {

constexpr auto npos = std::string_view::npos;
constexpr auto line_feed = std::string_view{"\n"};
constexpr auto crlf = std::string_view{"\r\n"};

std::string_view without_last_return(std::string_view text) {
  if (text.ends_with('\r'))
    text.remove_suffix(1);
  return text;
}

std::string_view last_written_state(std::string_view text) {
  const auto last = text.find_last_not_of('\r');
  if (last == npos)
    return {};
  text = text.substr(0, last + 1);
  return text.substr(text.rfind('\r') + 1); // npos + 1 is 0.
}

bool put_pieces(std::string_view text, std::string_view end, line_sink& out) {
  for (; text.size() > line_max; text.remove_prefix(line_max))
    out.put(text.substr(0, line_max), line_feed);
  return out.put(text, end);
}

} // namespace

line_cursor::request line_cursor::next() const {
  if (searched_ != 0)
    return {searched_, read_size};
  return {begin_, std::clamp(needed_, read_size, line_max + crlf.size())};
}

bool line_cursor::take(std::string_view bytes, time_point now, line_sink& out) {
  if (searched_ != 0) {
    search(bytes);
    return false;
  }
  needed_ = 0;
  // Nearly always there is none, and then nothing is looked at twice.
  const auto has_returns = bytes.find('\r') != npos;
  auto rest = bytes;
  for (auto end = rest.find('\n'); end != npos; end = rest.find('\n')) {
    const auto text = rest.substr(0, end);
    const auto is_plain = !has_returns && !in_progress_ && end <= line_max;
    const auto has_room
      = is_plain ? out.put(text, line_feed) : put_line(text, out);
    begin_ += end + 1;
    rest.remove_prefix(end + 1);
    if (!has_room && !rest.empty()) {
      reached_ = std::max(reached_, begin_);
      return true;
    }
  }
  settle(rest, now, out);
  return false;
}

// The text of a line that is complete; it begins at `begin_`.
bool line_cursor::put_line(std::string_view text, line_sink& out) {
  const auto* const origin = text.data();
  const auto line = without_last_return(text);
  const auto end = line.size() < text.size() ? crlf : line_feed;
  const auto is_progress = in_progress_ || line.find('\r') != npos;
  const auto shown = is_progress ? last_written_state(line) : line;
  const auto stop = begin_ + uint64_t(shown.data() - origin) + shown.size();
  const auto was_shown = shown_to_ != 0 && stop == shown_to_;
  in_progress_ = false;
  shown_to_ = 0;
  if (was_shown || (is_progress && shown.empty()))
    return true;
  return put_pieces(shown, end, out);
}

// The bytes from `begin_` on that hold no line feed.
void line_cursor::settle(std::string_view rest, time_point now,
                         line_sink& out) {
  due_.reset();
  if (const auto end = begin_ + rest.size(); end > reached_) {
    reached_ = end;
    grown_at_ = now;
  }
  if (begin_ >= flush_at_)
    flush_at_ = 0;
  if (flush_at_ != 0 && begin_ + rest.size() >= flush_at_) {
    put_line(rest, out);
    move_to(begin_ + rest.size());
    flush_at_ = 0;
    return;
  }
  if (in_progress_ || rest.find('\r') != npos)
    rest = show_states(rest, now, out);
  while (!due_ && without_last_return(rest).size() > line_max) {
    out.put(rest.substr(0, line_max), line_feed);
    rest.remove_prefix(line_max);
    move_to(begin_ + line_max);
  }
  if (rest.size() > reread_max)
    searched_ = begin_ + rest.size();
}

// Returns what begins at the new `begin_`.
std::string_view line_cursor::show_states(std::string_view rest, time_point now,
                                          line_sink& out) {
  // A `\r` at the very end may be half of a line end.
  const auto last = rest.size() < 2 ? npos : rest.rfind('\r', rest.size() - 2);
  if (last != npos) {
    const auto state = last_written_state(rest.substr(0, last));
    const auto start = state.empty() ? 0 : size_t(state.data() - rest.data());
    const auto was_shown
      = shown_to_ != 0 && shown_to_ == begin_ + start + state.size();
    // What waits must not become so long that it is not read again.
    if (!state.empty() && !was_shown && now < next_state_at_
        && rest.size() - start <= reread_max) {
      if (start > 0) {
        move_to(begin_ + start);
        in_progress_ = true;
      }
      due_ = next_state_at_;
      return rest.substr(start);
    }
    if (!state.empty() && !was_shown)
      show_state(state, now, out);
    move_to(begin_ + last + 1);
    in_progress_ = true;
    rest.remove_prefix(last + 1);
  }
  show_resting(rest, now, out);
  return rest;
}

// A state whose end has not been written is one if it does not change.
void line_cursor::show_resting(std::string_view rest, time_point now,
                               line_sink& out) {
  const auto state = without_last_return(rest);
  const auto stop = begin_ + state.size();
  if (state.empty() || stop == shown_to_ || rest.size() > reread_max)
    return;
  const auto at = std::max(grown_at_ + progress_interval, next_state_at_);
  if (now < at) {
    due_ = at;
    return;
  }
  show_state(state, now, out);
  shown_to_ = stop;
}

void line_cursor::show_state(std::string_view text, time_point now,
                             line_sink& out) {
  put_pieces(text, line_feed, out);
  next_state_at_ = now + progress_interval;
}

// The end of a long line is looked for in new bytes only; then all of it is
// wanted.
void line_cursor::search(std::string_view bytes) {
  const auto end = std::min(bytes.find('\n'), bytes.find('\r'));
  const auto seen = searched_ + bytes.size();
  reached_ = std::max(reached_, seen);
  if (end != npos) {
    // One more byte decides what the `\r` is.
    needed_ = size_t(searched_ + end + crlf.size() - begin_);
    searched_ = 0;
  } else if (seen - begin_ > line_max
             || (flush_at_ != 0 && seen >= flush_at_)) {
    needed_ = size_t(seen - begin_);
    searched_ = 0;
  } else {
    searched_ = seen;
  }
}

void line_cursor::flush_at(uint64_t to) {
  if (to <= begin_)
    return;
  flush_at_ = std::max(flush_at_, to);
  if (searched_ != 0 && searched_ >= flush_at_) {
    needed_ = size_t(searched_ - begin_);
    searched_ = 0;
  }
}

void line_cursor::skip_to(uint64_t to) {
  assert(to >= begin_);
  move_to(to);
  reached_ = std::max(reached_, to);
  in_progress_ = false;
  searched_ = 0;
  needed_ = 0;
  due_.reset();
  if (flush_at_ <= to)
    flush_at_ = 0;
}

void line_cursor::break_off() {
  skip_to(reached_);
  flush_at_ = 0;
}

void line_cursor::move_to(uint64_t begin) {
  if (begin != begin_)
    shown_to_ = 0;
  begin_ = begin;
}

} // namespace actorrun::core
