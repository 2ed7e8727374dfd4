// Log lines of an actor, as text: `warning coordinator stops generation 1: …`.
#pragma once

#include "actors/log.hpp"

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace actorrun::test {

/// Copies share their text. On any thread.
class log_lines {
public:
  actorrun::log writer(log_level least = log_level::debug) const {
    return [to = text_, least](log_level level, std::string_view line) {
      constexpr const char* names[] = {"debug ", "info ", "warning ", "error "};
      if (level < least)
        return;
      const auto lock = std::lock_guard{to->mutex};
      to->lines += names[static_cast<size_t>(level)];
      to->lines += line;
      to->lines += "\n";
    };
  }

  /// All lines since the last call, each with a line end.
  std::string told() const {
    const auto lock = std::lock_guard{text_->mutex};
    return std::exchange(text_->lines, {});
  }

private:
  struct text {
    std::mutex mutex;
    std::string lines;
  };

  std::shared_ptr<text> text_ = std::make_shared<text>();
};

} // namespace actorrun::test
