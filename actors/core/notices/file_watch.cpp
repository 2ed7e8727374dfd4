#include "actors/core/notices/file_watch.hpp"

#include <utility>

namespace actorrun::core {

std::optional<std::string> file_watch::step(const file_look& look,
                                            time_point now) {
  if (is_over_)
    return std::nullopt;
  if (!due_ && (!look.version || look.version == known_)) {
    known_ = look.version;
    return std::nullopt;
  }
  if (!due_)
    due_ = now + settle_max;
  if (look.version)
    line_ = look.first_line;
  if (now < *due_ && !look.is_line_whole)
    return std::nullopt;
  is_over_ = true;
  due_.reset();
  return std::move(line_);
}

} // namespace actorrun::core
