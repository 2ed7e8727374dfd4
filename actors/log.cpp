#include "actors/log.hpp"

#include "actors/core/logs/own_line.hpp"

#include <string>

namespace actorrun {

void log::put(log_level level, std::string_view line) const {
  if (!to_)
    return;
  auto room = std::string{};
  (*to_)(level, core::own_line(line, room));
}

} // namespace actorrun
