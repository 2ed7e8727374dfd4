// Matches lines with an extended regular expression.
#pragma once

#include "messages/result.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace actorrun::detail {

/// In bytes. The system's matcher may keep 40 KiB for each byte that it has seen,
/// until it begins anew.
inline constexpr size_t pattern_line_max = size_t{4} * 1024;

/// As `grep -E` understands it, on bytes. On one thread at a time.
class log_pattern {
public:
  /// @retval errc::bad_argument  it is none, or too costly; see
  ///         `core::check_pattern`
  static result<log_pattern> parse(const std::string& text);

  /// Whether a line has a part that it stands for. With `*`, `+` or `{` in it, only the
  /// first `pattern_line_max` bytes of the line count.
  bool matches(std::string_view line);

private:
  struct compiled;
  std::shared_ptr<compiled> compiled_;
};

} // namespace actorrun::detail
