// Matches lines with an extended regular expression.
#pragma once

#include "messages/result.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace actorrun::detail {

/// As `grep -E` understands it, on bytes.
class log_pattern {
public:
  /// @retval errc::bad_argument  it is none, or too costly; see
  ///         `core::check_pattern`
  static result<log_pattern> parse(const std::string& text);

  /// Whether a line has a part that it stands for.
  bool matches(std::string_view line) const;

private:
  struct compiled;
  std::shared_ptr<const compiled> compiled_;
};

} // namespace actorrun::detail
