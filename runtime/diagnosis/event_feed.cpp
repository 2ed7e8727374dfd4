#include "runtime/diagnosis/event_feed.hpp"

#include <chrono>
#include <utility>

namespace actorrun::detail {

namespace {

int64_t wall_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch())
    .count();
}

} // namespace

event_feed::event_feed(core::event_subject subject,
                       std::function<void(const std::string& line)> to)
  : log_(std::move(subject), std::chrono::steady_clock::now()),
    to_(std::move(to)) {}

void event_feed::note(const core::worker_group_event& event,
                      const core::worker_group& group, core::time_point now) {
  const auto guard = std::lock_guard{mutex_};
  for (const auto& line : log_.note(event, group, now, wall_ms()))
    to_(line);
}

void event_feed::note(const core::ending& how) {
  const auto guard = std::lock_guard{mutex_};
  for (const auto& line :
       log_.note(how, std::chrono::steady_clock::now(), wall_ms()))
    to_(line);
}

} // namespace actorrun::detail
