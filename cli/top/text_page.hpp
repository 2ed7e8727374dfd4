// Holds a text that the live view shows on a page of its own: one that is complete
// when it comes, or one that grows.
#pragma once

#include "cli/top/cells.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace actorrun::cli::top {

/// At most this many lines of a text that grows are kept: the last ones.
inline constexpr size_t page_lines_max = 1'000;

class text_page {
public:
  text_page() = default;

  /// @param follows It grows: its end is shown until the operator moves back.
  text_page(std::string title, bool follows)
    : title_(std::move(title)), grows_(follows), follows_(follows) {}

  /// While the operator reads what came before, news wait: what is read must not
  /// move.
  void add(std::vector<line> more);

  /// Towards the end if above 0.
  /// @param scroll_max Of the picture: lines that the page can be moved by.
  void scroll(int64_t by, size_t scroll_max);

  const std::string& title() const { return title_; }
  const std::vector<line>& lines() const { return lines_; }

  /// Of a text that grows: whether its end is shown.
  bool follows() const { return follows_; }
  bool is_held() const { return grows_ && !follows_; }

  /// Lines in front of the first one that is shown.
  size_t place(size_t scroll_max) const;

private:
  void keep_last();

  std::string title_;
  bool grows_ = false;
  bool follows_ = false;
  std::vector<line> lines_;
  std::vector<line> later_; ///< While it is held.
  size_t scrolled_ = 0;     ///< Unless it follows.
};

} // namespace actorrun::cli::top
