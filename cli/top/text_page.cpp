#include "cli/top/text_page.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace actorrun::cli::top {

namespace {

void append(std::vector<line>& to, std::vector<line> more) {
  to.insert(to.end(), std::move_iterator{more.begin()},
            std::move_iterator{more.end()});
}

void cut_front(std::vector<line>& x) {
  if (x.size() > page_lines_max)
    x.erase(x.begin(), x.end() - static_cast<std::ptrdiff_t>(page_lines_max));
}

} // namespace

void text_page::add(std::vector<line> more) {
  append(is_held() ? later_ : lines_, std::move(more));
  keep_last();
}

void text_page::scroll(int64_t by, size_t scroll_max) {
  const auto end = static_cast<int64_t>(scroll_max);
  const auto from = static_cast<int64_t>(place(scroll_max));
  scrolled_ = static_cast<size_t>(std::clamp<int64_t>(from + by, 0, end));
  follows_ = grows_ && by >= 0 && scrolled_ == scroll_max;
  if (!follows_)
    return;
  append(lines_, std::exchange(later_, {}));
  keep_last();
}

size_t text_page::place(size_t scroll_max) const {
  return follows_ ? scroll_max : std::min(scrolled_, scroll_max);
}

void text_page::keep_last() {
  if (!grows_)
    return;
  cut_front(lines_);
  cut_front(later_);
}

} // namespace actorrun::cli::top
