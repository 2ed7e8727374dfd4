#include "tests/bench/terminal.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <unistd.h>

namespace actorrun::bench {

namespace {

constexpr auto escape = '\x1b';

/// The numbers of a sequence such as `12;3`; what is missing is 0.
std::array<size_t, 2> numbers_of(const std::string& text) {
  auto out = std::array<size_t, 2>{};
  const auto* at = text.data();
  const auto* const end = at + text.size();
  for (auto& x : out) {
    at = std::from_chars(at, end, x).ptr;
    if (at == end)
      break;
    ++at;
  }
  return out;
}

} // namespace

terminal::terminal(detail::unique_fd own_end, detail::unique_fd program_end,
                   size_t columns, size_t rows)
  : own_end_(std::move(own_end)), program_end_(std::move(program_end)),
    columns_(columns), rows_(rows, std::string(columns, ' ')),
    bottom_(rows - 1) {}

result<terminal> terminal::open(size_t columns, size_t rows) {
  auto own = -1;
  auto other = -1;
  auto size = winsize{};
  size.ws_col = static_cast<unsigned short>(columns);
  size.ws_row = static_cast<unsigned short>(rows);
  if (::openpty(&own, &other, nullptr, nullptr, &size) != 0)
    return unmeasured(std::string{"no terminal: "} + std::strerror(errno));
  for (const auto fd : {own, other})
    ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  return terminal{detail::unique_fd{own}, detail::unique_fd{other}, columns,
                  rows};
}

result<int64_t> terminal::await(std::string_view text, std::string_view more) {
  const auto due = deadline();
  while (!has(text, more)) {
    using std::chrono::milliseconds;
    const auto left = std::chrono::ceil<milliseconds>(due - clock::now());
    if (left.count() <= 0 || !read_some(int(left.count())))
      return unmeasured(picture() + "This screen has no row with '"
                        + std::string{text} + "' and '" + std::string{more}
                        + "'");
  }
  return stamp_now();
}

void terminal::read_pending() {
  while (read_some(0)) {
  }
}

std::string terminal::picture() const {
  auto out = std::string{};
  for (const auto& x : rows_)
    out += x + '\n';
  return out;
}

bool terminal::has(std::string_view text, std::string_view more) const {
  return std::any_of(rows_.begin(), rows_.end(), [&](const auto& x) {
    return x.find(text) != x.npos && x.find(more) != x.npos;
  });
}

// @returns false if there was nothing in time, or there will be nothing more
bool terminal::read_some(int timeout_ms) {
  auto input = pollfd{.fd = own_end_.get(), .events = POLLIN, .revents = 0};
  if (::poll(&input, 1, timeout_ms) != 1)
    return false;
  char buffer[4096];
  const auto count = ::read(own_end_.get(), buffer, sizeof buffer);
  for (ssize_t i = 0; i < count; ++i)
    take(static_cast<unsigned char>(buffer[i]));
  return count > 0;
}

void terminal::take(unsigned char x) {
  const auto plain = static_cast<char>(x);
  switch (state_) {
    case state::escape:
      return take_escape(plain);
    case state::character_set:
      state_ = state::text;
      return;
    case state::sequence:
      if (x < '@') {
        parameters_ += plain;
        return;
      }
      state_ = state::text;
      return run(plain);
    case state::text:
      break;
  }
  constexpr unsigned char continuation_first = 0x80;
  constexpr unsigned char continuation_last = 0xbf;
  if (plain == escape)
    state_ = state::escape;
  else if (plain == '\r')
    column_ = 0;
  else if (plain == '\n')
    feed();
  else if (plain == '\b')
    column_ -= column_ > 0;
  else if (x >= ' ' && (x < continuation_first || x > continuation_last))
    print(x < continuation_first ? plain : '?');
}

void terminal::take_escape(char x) {
  state_ = state::text;
  if (x == '[') {
    state_ = state::sequence;
    parameters_.clear();
  } else if (x == '(' || x == ')') {
    state_ = state::character_set;
  } else if (x == 'M' && row_ == top_) { // The rest moves down.
    std::rotate(rows_.begin() + top_, rows_.begin() + bottom_,
                rows_.begin() + bottom_ + 1);
    erase(top_, 0, columns_);
  } else if (x == 'M') {
    row_ -= row_ > 0;
  }
}

void terminal::run(char command) {
  const auto [first, second] = numbers_of(parameters_);
  const auto count = std::max<size_t>(first, 1);
  const auto last_row = rows_.size() - 1;
  switch (command) {
    case 'A':
      row_ -= std::min(row_, count);
      break;
    case 'B':
      row_ = std::min(row_ + count, last_row);
      break;
    case 'C':
      column_ = std::min(column_ + count, columns_ - 1);
      break;
    case 'D':
      column_ -= std::min(column_, count);
      break;
    case 'H':
      row_ = std::min(count - 1, last_row);
      column_ = std::min(std::max<size_t>(second, 1) - 1, columns_ - 1);
      break;
    case 'J':
      erase(row_, first == 0 ? column_ : 0, columns_);
      for (auto i = first == 0 ? row_ + 1 : 0; i < rows_.size(); ++i)
        erase(i, 0, columns_);
      break;
    case 'K':
      erase(row_, first == 0 ? column_ : 0,
            first == 1 ? column_ + 1 : columns_);
      break;
    case 'r':
      top_ = std::min(count - 1, last_row);
      bottom_ = second == 0 ? last_row : std::min(second - 1, last_row);
      row_ = column_ = 0;
      break;
    default: // Colours and modes.
      break;
  }
}

void terminal::print(char x) {
  if (column_ == columns_) {
    column_ = 0;
    feed();
  }
  rows_[row_][column_++] = x;
}

void terminal::feed() {
  if (row_ == bottom_) {
    std::rotate(rows_.begin() + top_, rows_.begin() + top_ + 1,
                rows_.begin() + bottom_ + 1);
    erase(bottom_, 0, columns_);
  } else if (row_ + 1 < rows_.size()) {
    ++row_;
  }
}

void terminal::erase(size_t row, size_t from, size_t to) {
  std::fill(rows_[row].begin() + from, rows_[row].begin() + to, ' ');
}

} // namespace actorrun::bench
