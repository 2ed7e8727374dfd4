#include "actors/core/logs/line_label.hpp"

#include <algorithm>

namespace actorrun::core {

bool labelling_sink::put(std::string_view text, std::string_view end) {
  batch_.append(prefix_);
  batch_.append(text);
  batch_.append(end);
  return batch_.size() < batch_max;
}

bool filtering_sink::put(std::string_view text, std::string_view end) {
  const auto is_found
    = std::any_of(filters_.begin(), filters_.end(), [&](const auto& x) {
        return text.find(x) != std::string_view::npos;
      });
  const auto has_room = !is_found || copies_.put(text, end);
  return next_.put(text, end) && has_room;
}

} // namespace actorrun::core
