#include "actors/core/logs/reading_pace.hpp"

#include <algorithm>

namespace actorrun::core {

duration reading_pace::pause_after(time_point now, processor_time had) {
  const auto ran = had.ran - last_.ran;
  if (ran < slice)
    return {};
  const auto waited = had.waited - last_.waited;
  const auto caused = had.caused - last_.caused;
  last_ = had;
  if (waited * waited_part >= ran)
    busy_until_ = now + busy_time;
  if (now >= busy_until_)
    return {};
  return std::min<duration>((ran + caused) * busy_part, pause_max);
}

} // namespace actorrun::core
